// A verb of a command: its name, its flags, and what runs. How to write one, say app/draw.cpp:
//
//   struct DrawFlags { std::string model, output; std::int64_t size = 512; };
//   int draw(const DrawFlags& flags, Context& context) { ..; return kOk; }
//
//   Run add_draw(VerbOptions& verb, Context& context) {
//     auto flags = std::make_shared<DrawFlags>();          // outlives parsing, kept by the Run
//     add_path(verb, "MODEL", flags->model, "a model file").required();
//     add_path(verb, "-o,--output", flags->output, "where the picture goes").required();
//     add_count(verb, "--size", flags->size, {.least = 1}, "pixels along the longer side");
//     add_threads(verb, context);
//     verb.examples("  veldt draw cub.safetensors -o cub.png\n");
//     return [flags, &context] { return draw(*flags, context); };
//   }
//
// and a line in app/verbs.cpp. The add_ functions are in cli/option_tree.h: use them rather than CLI11's own,
// because they give three-line errors with suggestions. --json and --quiet are added to every verb. A verb
// reports errors as exceptions (cli/exit.h turns them into exit codes), prints results through context.out,
// progress through app/progress_line.h, notes through cli/terminal.h unless context.quiet, and checks outputs
// with io::check_writable() before it works for long.
// Tests: tests/app/command_test.cpp
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "veldt/cli/context.h"
#include "veldt/cli/option_tree.h"

namespace veldt::cli {

// Does the work after the command line has been read; returns the exit code.
using Run = std::function<int()>;

struct Verb {
  const char* name;
  const char* summary;  // one line, for the list of verbs and the head of its help
  Run (*add)(VerbOptions& verb, Context& context);
};

// The command: its verbs, and what help says of it. Notes, warnings and hints name it "veldt".
struct Program {
  std::string name;
  std::string version;
  std::string summary;      // one line, the head of its help
  std::string examples;     // lines of the help, indented by two
  std::vector<Verb> verbs;  // in the order in which help lists them
  // Called with a verb before it runs ("data show"); may throw.
  std::function<void(const std::string& verb)> before = {};
};

}  // namespace veldt::cli
