// Builds the verbs, reads the command line, runs one verb, reports what went wrong.
#include "veldt/app/command.h"

#include <CLI/CLI.hpp>  // not App.hpp alone: its virtual functions are defined in other headers
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "veldt/app/context.h"
#include "veldt/app/exit.h"
#include "veldt/app/help.h"
#include "veldt/app/options.h"
#include "veldt/app/terminal.h"
#include "veldt/app/usage.h"
#include "veldt/app/verbs.h"
#include "veldt/core/threads.h"

namespace veldt::app {
namespace {

constexpr const char* kExamples =
    "  veldt fit cub.png -o cub.safetensors            teach a network the picture\n"
    "  veldt render cub.safetensors -o big.png --size 1024\n"
    "  veldt compare cub.png cub.safetensors           how well it learned\n"
    "  veldt VERB --help                               more about one verb\n";

class Command {
 public:
  explicit Command(Context& context) : root_("neural fields: pictures as functions of position", "veldt") {
    root_.require_subcommand(0, 1);
    root_.footer(kExamples);
    root_.set_help_flag("-h,--help", "show this text");
    root_.add_flag("--version", version_, "show the version");
    for (const Verb& verb : verbs()) {
      CLI::App* app = root_.add_subcommand(verb.name, verb.summary);
      runs_[app] = verb.add(*app, context);
      add_shared_flags_below(*app, context);
    }
  }

  int run(Context& context) {
    if (!parse(context)) return kOk;
    if (context.threads > 0) set_num_threads(context.threads);
    return runs_.at(root_.get_subcommands().front())();
  }

 private:
  // A verb that has verbs of its own gives the flags to those.
  static void add_shared_flags_below(CLI::App& app, Context& context) {
    app.set_help_flag("-h,--help", "show this text")->group("Everywhere");
    const auto below = app.get_subcommands([](CLI::App*) { return true; });
    for (CLI::App* verb : below) add_shared_flags_below(*verb, context);
    if (below.empty()) add_shared_flags(app, context);
  }

  // False if the command line asked for a text, which is printed.
  bool parse(Context& context) {
    std::vector<std::string> words(context.arguments.rbegin(), std::prev(context.arguments.rend()));
    // `veldt help fit` is `veldt fit --help`.
    if (!words.empty() && words.back() == "help") {
      words.pop_back();
      words.insert(words.begin(), "--help");
    }
    const bool empty = words.empty();
    try {
      root_.parse(words);
    } catch (const CLI::CallForHelp&) {
      context.out.text(help_text(deepest(root_), std::min(stderr_terminal().width, 110)));
      return false;
    } catch (const CLI::ParseError& error) {
      throw explain(root_, error);
    }
    if (version_) {
      context.out.text("veldt " VELDT_VERSION "\n");
      return false;
    }
    if (empty) context.out.text(help_text(root_));
    if (!empty && root_.get_subcommands().empty())
      throw UsageError("'veldt' needs a verb", "none was given", "see 'veldt --help'");
    return !empty;
  }

  CLI::App root_;
  bool version_ = false;
  std::map<CLI::App*, Run> runs_;
};

// With --json a script finds the error on stdout, unless the result is there already (a missed threshold).
void report(const Failure& failure, Context& context) {
  write_stderr(in_three_lines(failure, stderr_terminal().color));
  if (!context.json || context.out.has_json()) return;
  try {
    context.out.json({{"error",
                       {{"what", failure.what},
                        {"why", failure.why},
                        {"fix", failure.fix},
                        {"exit_code", failure.code}}}});
  } catch (const IoError&) {
    // The three lines are out; stdout cannot take more.
  }
}

}  // namespace

int run_command(int argc, char** argv) {
  prepare_standard_streams();
  Context context;
  context.arguments.assign(argv, argv + argc);
  if (context.arguments.empty()) context.arguments.emplace_back("veldt");
  try {
    return Command(context).run(context);
  } catch (...) {
    const Failure failure = current_failure();
    // A command line that could not be read has not set the flag.
    const auto& words = context.arguments;
    context.json |= std::find(words.begin(), words.end(), "--json") != words.end();
    report(failure, context);
    return failure.code;
  }
}

}  // namespace veldt::app
