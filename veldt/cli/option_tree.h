// The option tree: every verb with its settings, each declared once, in the verb's own file. Parsing (CLI11),
// --help, completion, configuration files, environment variables and docs/cli.md are all read from it.
// Tests: tests/app/pieces_test.cpp, tests/app/config_test.cpp, tests/app/command_test.cpp
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veldt/cli/context.h"
#include "veldt/io/text_values.h"

// CLI11 takes seconds to compile: only the files that use it include it.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace veldt::cli {

enum class ValueKind : std::uint8_t { count, number, duration, choice, path, text, on_off };

// A flag or a positional argument of a verb. CLI11's option holds its names, help, group and default.
struct Setting {
  CLI::Option* option = nullptr;
  ValueKind kind = ValueKind::text;
  std::vector<std::string> choices = {};  // of a setting with choices
  bool configurable = true;  // by file and environment; a path is not, because it belongs to one run
  std::function<void(const io::Source&, const std::string& text)> set = {};
  // Where the value comes from: "default", "flag", "VELDT_STEPS" or "veldt.toml:3".
  std::string origin = "default";
  std::string value = {};  // the text given there

  std::string flag() const;         // "--steps", "-o", "PICTURE"
  std::string key() const;          // "steps"
  std::string environment() const;  // "VELDT_STEPS"
  bool is_shared() const;           // a setting of every verb, such as --threads
  void take(const io::Source& source, const std::string& text, const std::string& from);

  Setting& required();                      // by the command line
  Setting& excludes(const Setting& other);  // not both
  Setting& waives(const Setting& other);    // if this switch is on, the other setting is not required
  Setting& command_line_only();
};

// A verb of the tree, with its settings and the verbs below it.
struct VerbOptions {
  CLI::App* app = nullptr;
  VerbOptions* parent = nullptr;
  std::deque<Setting> settings = {};
  std::vector<std::unique_ptr<VerbOptions>> verbs = {};
  bool reads_config = true;  // before it runs, and has settings in files
  std::function<int()> run = {};

  VerbOptions& add_verb(const std::string& name, const std::string& summary);
  VerbOptions* find_verb(const std::string& name) const;  // null if there is none
  void examples(const std::string& text);                 // the end of its help
  Setting* find_key(const std::string& key);              // of a configurable setting; null if there is none
  std::string path() const;                               // "csv encode"; "" for veldt itself
  std::string table() const;                              // "csv.encode", its name in a file
};

// `names` is CLI11's: "-o,--output", or "PICTURE" for a positional one. A value that a variable already holds
// is its default, and help shows it. If a flag is given twice, the last one counts. Bounds: io/text_values.h.
Setting& add_count(VerbOptions& verb, const std::string& names, std::int64_t& into, io::CountRange range,
                   const std::string& help);
Setting& add_count(VerbOptions& verb, const std::string& names, std::optional<std::int64_t>& into,
                   io::CountRange range, const std::string& help);
Setting& add_number(VerbOptions& verb, const std::string& names, double& into, io::NumberRange range,
                    const std::string& help);
Setting& add_number(VerbOptions& verb, const std::string& names, std::optional<double>& into,
                    io::NumberRange range, const std::string& help);
// Seconds.
Setting& add_duration(VerbOptions& verb, const std::string& names, double& into, const std::string& help);
Setting& add_choice(VerbOptions& verb, const std::string& names, std::string& into,
                    const std::vector<std::string>& choices, const std::string& help);
Setting& add_choice(VerbOptions& verb, const std::string& names, std::optional<std::string>& into,
                    const std::vector<std::string>& choices, const std::string& help);
// Not checked here. Only from the command line: a veldt.toml that came with someone's pictures must not name
// files to write.
Setting& add_path(VerbOptions& verb, const std::string& names, std::string& into, const std::string& help);
// May be given any number of times.
Setting& add_paths(VerbOptions& verb, const std::string& names, std::vector<std::string>& into,
                   const std::string& help);
// A text that `read` accepts, or throws bad_value() for; help calls it `kind` ("W,H").
Setting& add_text(VerbOptions& verb, const std::string& names, const std::string& kind,
                  const std::string& help,
                  std::function<void(const io::Source& source, const std::string& text)> read);
// May be given any number of times; all values are kept, in order.
Setting& add_texts(VerbOptions& verb, const std::string& names, const std::string& kind,
                   std::vector<std::string>& into, const std::string& help);
// The same with two values each time it is given ("--map REGEX TEXT"), one after the other in `into`. Only
// from the command line.
Setting& add_pairs(VerbOptions& verb, const std::string& names, const std::string& kind,
                   std::vector<std::string>& into, const std::string& help);
// True when given.
Setting& add_switch(VerbOptions& verb, const std::string& names, bool& into, const std::string& help);

// The command line that was given, with --resume and the values that the environment set, for a shell without
// them; and with `flag`, unless it was given, as the program chose it.
std::string command_to_resume(const Context& context, const std::string& verb, const std::string& flag = "",
                              const std::string& value = "");

// --device, for verbs that can compute on any device.
Setting& add_device(VerbOptions& verb, std::string& into);
// --max-pixels, for verbs that read pictures, and sounds.
Setting& add_max_pixels(VerbOptions& verb, std::int64_t& into, bool and_sounds = false);
// --threads, for verbs that compute.
void add_threads(VerbOptions& verb, Context& context);
// --json, --quiet and --config, which the command adds to every verb.
void add_shared_flags(VerbOptions& verb, Context& context);

}  // namespace veldt::cli
