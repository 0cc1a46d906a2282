// Builds the verbs, reads the command line, runs one verb, reports what went wrong.
#include "veldt/cli/command.h"

#include <CLI/CLI.hpp>  // not App.hpp alone: its virtual functions are defined in other headers
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "veldt/cli/config.h"
#include "veldt/cli/context.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/help.h"
#include "veldt/cli/manual.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/terminal.h"
#include "veldt/cli/usage.h"
#include "veldt/core/threads.h"
#include "veldt/tensor/fallback.h"

namespace veldt::cli {
namespace {

class Command {
 public:
  Command(const Program& program, Context& context)
      : program_(program), root_(program.summary, program.name) {
    root_.require_subcommand(0, 1);
    root_.footer(program.examples);
    root_.set_help_flag("-h,--help", "show this text");
    root_.add_flag("--version", version_, "show the version");
    tree_.app = &root_;
    for (const Verb& verb : program.verbs) {
      VerbOptions& options = tree_.add_verb(verb.name, verb.summary);
      options.run = verb.add(options, context);
      add_shared_flags_below(options, context);
    }
    context.tree = &tree_;
  }

  int run(Context& context) {
    const VerbOptions* verb = parse(context);
    if (verb == nullptr) return kOk;
    if (context.threads) set_num_threads(static_cast<int>(*context.threads));
    if (program_.before) program_.before(verb->path());
    try {
      const int status = verb->run();
      if (const std::string shortage = thread_shortage(); !shortage.empty())
        std::fprintf(stderr, "veldt: warning: %s; other threads did its work\n", shortage.c_str());
      if (const std::string lent = fallback_text(); !lent.empty() && !context.quiet) print_note(lent);
      return status;
    } catch (const ConfigError& error) {
      if (!is_configured(*verb)) throw;
      throw ConfigError(
          error.summary(), error.why(),
          error.fix() + "; not all settings are flags: see 'veldt config show " + verb->path() + "'");
    }
  }

  // The verb to run, with its settings; null if the command line asked for help or the version, which is
  // printed.
  VerbOptions* parse(Context& context) {
    std::vector<std::string> words(context.arguments.rbegin(), std::prev(context.arguments.rend()));
    // `veldt help fit` is `veldt fit --help`.
    if (!words.empty() && words.back() == "help") {
      words.pop_back();
      if (words == std::vector<std::string>{"--markdown"}) {
        context.out.text(manual(tree_));
        return nullptr;
      }
      words.insert(words.begin(), "--help");
    }
    const bool empty = words.empty();
    try {
      root_.parse(words);
    } catch (const CLI::CallForHelp&) {
      if (const auto mistyped = mistyped_verb(deepest(root_))) throw UsageError(*mistyped);
      context.out.text(help_text(deepest(root_), stderr_terminal().width));
      return nullptr;
    } catch (const CLI::ParseError& error) {
      throw explain(root_, error);
    }
    if (version_) {
      context.out.text(program_.name + ' ' + program_.version + '\n');
      return nullptr;
    }
    if (empty) context.out.text(help_text(root_, stderr_terminal().width));
    if (!empty && root_.get_subcommands().empty())
      throw UsageError(str('\'', program_.name, "' needs a verb"), "none was given",
                       str("see '", program_.name, " --help'"));
    return empty ? nullptr : chosen(context);
  }

 private:
  // True if the environment or a file sets one of its values.
  static bool is_configured(const VerbOptions& verb) {
    return std::any_of(verb.settings.begin(), verb.settings.end(),
                       [](const Setting& s) { return s.origin != "default" && s.origin != "flag"; });
  }

  // A verb with verbs of its own passes the flags on to them.
  static void add_shared_flags_below(VerbOptions& verb, Context& context) {
    verb.app->set_help_flag("-h,--help", "show this text")->group("Everywhere");
    for (const auto& below : verb.verbs) add_shared_flags_below(*below, context);
    if (verb.verbs.empty()) add_shared_flags(verb, context);
  }

  VerbOptions* chosen(Context& context) {
    VerbOptions* verb = &tree_;
    while (!verb->app->get_subcommands().empty())
      verb = verb->find_verb(verb->app->get_subcommands().front()->get_name());
    if (verb->reads_config) resolve(*verb, context.config, tree_);
    return verb;
  }

  const Program& program_;
  CLI::App root_;
  VerbOptions tree_;
  bool version_ = false;
};

// With --json a script finds the error on stdout, unless the result is there already (a missed threshold).
void report(const Failure& failure, Context& context) {
  write_stderr(in_three_lines(failure, stderr_terminal().color));
  if (!context.json || context.out.has_json()) return;
  try {
    context.out.json({{"error", in_json(failure)}});
  } catch (const IoError&) {
    // The three lines are printed; stdout takes no more.
  }
}

}  // namespace

int run_command(const Program& program, int argc, char** argv) {
  Context context;
  if (!prepare_standard_streams()) context.out.lose();
  try {
    explain_memory_that_ends_the_program();
    context.arguments.assign(argv, argv + argc);
    if (context.arguments.empty()) context.arguments.push_back(program.name);
    return Command(program, context).run(context);
  } catch (...) {
    const Failure failure = current_failure();
    // If the command line could not be read, the flag is not set yet.
    const auto& words = context.arguments;
    context.json |= std::find(words.begin(), words.end(), "--json") != words.end();
    report(failure, context);
    return failure.code;
  }
}

std::string parse_command(const Program& program, const std::vector<std::string>& arguments) {
  Context context;
  context.out.close();
  context.arguments = arguments;
  Command command(program, context);
  const VerbOptions* verb = command.parse(context);
  return verb == nullptr ? "" : verb->path();
}

}  // namespace veldt::cli
