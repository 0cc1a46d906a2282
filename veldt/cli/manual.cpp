// Writes the option tree as the tables of docs/cli.md.
#include "veldt/cli/manual.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include "veldt/cli/help.h"

namespace veldt::cli {
namespace {

constexpr const char* kIntroduction = R"(# The veldt command

This page is made by `veldt help --markdown`; a test compares the two. `veldt VERB --help` shows the same.

## Settings

A flag with a key can also be set by an environment variable and in a configuration file. The strongest is
the flag, then the variable, then the files, from the first to the last:

1. the one that `--config FILE` names
2. `veldt.toml` in the working directory
3. `$XDG_CONFIG_HOME/veldt/config.toml`, where `XDG_CONFIG_HOME` is `~/.config` unless it is set

A file is TOML: settings of all verbs are at the top, the settings of one verb below its name.

```toml
threads = 4

[fit]
steps = 600
model = "siren"

[csv.encode]
threshold = 0.4
```

Paths are not configured: they belong to one run, and a `veldt.toml` that came with someone's pictures must
not name files to write. A name that does not exist, a value of the wrong type and a file that is not TOML are
errors (exit code 2) with file and line. `veldt config show VERB` prints each setting with its value and its
origin.

Exit codes and the objects that `--json` prints are in [formats.md](formats.md).

Counts may be written 10k, 2M and 1_000 on the command line; times 30, 30s, 500ms, 5m and 1.5h.

Paths are names of files. `-` is refused, because Veldt reads files in any order and renames them when they
are whole; `./-` is a file of that name, and `/dev/stdout` takes a drawing. Text that a network writes
(`predict`, and the sample at the end of `train`) goes to a terminal with control characters as `\x1b`, and
to a file or a pipe byte for byte.
)";

// A bar would end a table's cell.
std::string in_cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.insert(at, "\\");
  return text;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + in_cell(text) + "`"; }

std::string name_with_value(const Setting& setting) {
  std::string name = setting.option->get_name(setting.option->get_positional(), true);
  if (setting.option->get_positional() || setting.kind == ValueKind::on_off) return name;
  return name + " " + setting.option->get_type_name();
}

std::string rows(const VerbOptions& verb) {
  std::string out = "\n| flag | meaning | default | key | variable |\n| --- | --- | --- | --- | --- |\n";
  for (const bool shared : {false, true})
    for (const Setting& s : verb.settings)
      if (s.is_shared() == shared)
        out += fmt::format("| {} | {} | {} | {} | {} |\n", code(name_with_value(s)),
                           in_cell(meaning_of(*s.option)), code(s.option->get_default_str()),
                           verb.reads_config && s.configurable ? code(s.key()) : "",
                           verb.reads_config && s.configurable ? code(s.environment()) : "");
  return out;
}

std::string section(const VerbOptions& verb) {
  std::string out = fmt::format("\n## veldt {}\n\n{}\n\n```\n{}```\n", verb.path(),
                                verb.app->get_description(), usage_line(*verb.app));
  if (verb.verbs.empty()) out += rows(verb);
  if (!verb.app->get_footer().empty()) out += fmt::format("\n```\n{}```\n", verb.app->get_footer());
  for (const auto& below : verb.verbs) out += section(*below);
  return out;
}

}  // namespace

std::string manual(const VerbOptions& tree) {
  std::string out = kIntroduction;
  out += "\n## Verbs\n\n| verb | what it does |\n| --- | --- |\n";
  for (const auto& verb : tree.verbs)
    out += fmt::format("| [{0}](#veldt-{0}) | {1} |\n", verb->app->get_name(), verb->app->get_description());
  for (const auto& verb : tree.verbs) out += section(*verb);
  return out;
}

}  // namespace veldt::cli
