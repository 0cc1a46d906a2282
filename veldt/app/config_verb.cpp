// veldt config show|path: which settings are in force, and where they come from.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "veldt/cli/config.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/terminal.h"
#include "veldt/cli/usage.h"
#include "veldt/app/verbs.h"
#include "veldt/io/suggest.h"

namespace veldt::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kShowExamples =
    "  veldt config show                     the settings of every verb\n"
    "  veldt config show fit\n"
    "  veldt config show csv encode\n"
    "  veldt config show fit --steps 100     as that command line would have them\n"
    "  veldt config show fit --json\n";
constexpr const char* kPathExamples = "  veldt config path\n";

// `verb` and the verbs below it, as far as they can run.
void collect_verbs(VerbOptions& verb, std::vector<VerbOptions*>& into) {
  if (verb.verbs.empty() && verb.reads_config) into.push_back(&verb);
  for (const auto& below : verb.verbs) collect_verbs(*below, into);
}

// Takes the verb's name off the front of `words`.
VerbOptions& find(VerbOptions& tree, std::vector<std::string>& words) {
  VerbOptions* verb = &tree;
  while (!words.empty() && !words.front().starts_with('-') && !verb->verbs.empty()) {
    VerbOptions* below = verb->find_verb(words.front());
    if (below == nullptr || !below->reads_config) {
      std::vector<std::string> known;
      for (const auto& v : verb->verbs)
        if (v->reads_config) known.push_back(v->app->get_name());
      const std::string nearest = io::nearest_of(words.front(), known);
      throw UsageError(fmt::format("there are no settings of '{}'", words.front()),
                       fmt::format("verbs with settings are {}", fmt::join(known, ", ")),
                       nearest.empty() ? "name one of them" : fmt::format("did you mean '{}'?", nearest));
    }
    verb = below;
    words.erase(words.begin());
  }
  return *verb;
}

// Reads the flags as the verb itself would, but without its arguments.
void parse_flags(VerbOptions& tree, VerbOptions& verb, const std::vector<std::string>& flags) {
  if (flags.empty()) return;
  if (!verb.verbs.empty())
    throw UsageError(fmt::format("'{}' needs a verb before it", flags.front()), "flags belong to one verb",
                     "write it as in: veldt config show fit --steps 100");
  for (const Setting& s : verb.settings) s.option->required(false);
  std::vector<std::string> words(flags.rbegin(), flags.rend());
  for (const VerbOptions* at = &verb; at->parent != nullptr; at = at->parent)
    words.push_back(at->app->get_name());
  try {
    tree.app->parse(words);
  } catch (const CLI::ParseError& error) {
    throw explain(*tree.app, error);
  }
}

std::string value_in_words(const Setting& s) {
  if (s.origin != "default") return s.value;
  if (s.kind == ValueKind::on_off) return "false";
  return s.option->get_default_str();
}

// Nothing: the verb chooses the value, from the picture or the machine.
std::string shown_value(const Setting& s) {
  const std::string text = value_in_words(s);
  return text.empty() ? "-" : text;
}

// A value in its own type, as in a file; null for one that is chosen later.
Json value_in_json(const Setting& s) {
  const std::string text = value_in_words(s);
  if (text.empty()) return nullptr;
  const io::Source source{s.flag(), ""};
  switch (s.kind) {
    case ValueKind::on_off: return io::switch_from(source, text);
    case ValueKind::count: return io::count_from(source, text, {});
    case ValueKind::number: return io::number_from(source, text, {});
    case ValueKind::duration: return io::seconds_from(source, text);
    case ValueKind::choice:
    case ValueKind::path:
    case ValueKind::text: return text;
  }
  return text;
}

std::string table_of(const VerbOptions& verb) {
  std::string text = fmt::format("[{}]\n", verb.table());
  std::size_t key = 0, value = 0;
  for (const Setting& s : verb.settings)
    if (s.configurable) {
      key = std::max(key, s.key().size());
      value = std::max(value, std::min<std::size_t>(shown_value(s).size(), 24));
    }
  for (const Setting& s : verb.settings)
    if (s.configurable)
      text += fmt::format("  {:<{}}  {:<{}}  {}\n", s.key(), key, on_one_line(shown_value(s)), value,
                          on_one_line(s.origin));
  return text;
}

Json object_of(const VerbOptions& verb) {
  Json settings = Json::object();
  for (const Setting& s : verb.settings)
    if (s.configurable)
      settings[s.key()] = {{"value", value_in_json(s)}, {"origin", s.origin}, {"variable", s.environment()}};
  return settings;
}

int show(std::vector<std::string> words, Context& context) {
  VerbOptions& asked = find(*context.tree, words);
  parse_flags(*context.tree, asked, words);
  if (!context.quiet)
    for (const std::string& note : mistyped_variables(*context.tree)) print_note(note);
  std::vector<VerbOptions*> all;
  collect_verbs(asked, all);
  const std::vector<ConfigFile> files = read_config(context.config, *context.tree);
  Json object = Json::object();
  std::string text;
  for (VerbOptions* verb : all) {
    apply_environment(*verb);
    apply_config(*verb, files);
    object[verb->path()] = object_of(*verb);
    text += (text.empty() ? "" : "\n") + table_of(*verb);
  }
  if (context.json)
    context.out.json(object);
  else
    context.out.text(text);
  return kOk;
}

int path(Context& context) {
  Json rows = Json::array();
  std::string text;
  for (const ConfigPlace& place : config_places(context.config)) {
    const char* state = place.exists ? "read" : place.path.empty() ? "HOME is not set" : "not there";
    rows.push_back({{"path", place.path}, {"what", place.what}, {"exists", place.exists}});
    text += fmt::format("{:<21}  {:<9}  {}\n", place.what, state, on_one_line(place.path));
  }
  if (context.json)
    context.out.json({{"files", rows}});
  else
    context.out.text(text);
  return kOk;
}

}  // namespace

Run add_config(VerbOptions& verb, Context& context) {
  verb.app->require_subcommand(1);
  auto first = std::make_shared<std::string>();
  VerbOptions& shower = verb.add_verb("show", "print every setting of a verb with its value and its origin");
  VerbOptions& finder = verb.add_verb("path", "list the configuration files looked for, the strongest first");
  add_text(shower, "VERB", "VERB", "a verb, and flags of it (all verbs unless given)",
           [first](const io::Source&, const std::string& text) { *first = text; })
      .command_line_only();
  shower.app->prefix_command();  // unknown flags are the verb's
  shower.examples(kShowExamples);
  finder.examples(kPathExamples);
  verb.examples("  veldt config show fit\n  veldt config path\n");
  shower.run = [first, app = shower.app, &context] {
    std::vector<std::string> words = app->remaining();
    if (!first->empty()) words.insert(words.begin(), *first);
    return show(words, context);
  };
  finder.run = [&context] { return path(context); };
  verb.reads_config = shower.reads_config = finder.reads_config = false;
  return {};
}

}  // namespace veldt::app
