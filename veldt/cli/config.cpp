// Finds each setting's value among flags, variables and files, and says where it came from.
#include "veldt/cli/config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "veldt/cli/environment.h"
#include "veldt/io/suggest.h"
#include "veldt/io/text_values.h"

namespace veldt::cli {
namespace {

std::string user_config_path() {
  std::string base = variable("XDG_CONFIG_HOME");
  if (!base.starts_with('/')) base.clear();  // the XDG specification: a relative one is to be ignored
  const std::string home = variable("HOME");
  if (base.empty() && home.starts_with('/')) base = home + "/.config";
  return base.empty() ? "" : base + "/veldt/config.toml";
}

std::string dotted(const std::vector<std::string>& path) { return fmt::format("{}", fmt::join(path, ".")); }

// The keys of veldt itself, at the top of a file: the settings that all verbs share.
void shared_keys(const VerbOptions& verb, std::vector<std::string>& into) {
  for (const Setting& s : verb.settings)
    if (s.is_shared() && s.configurable && std::find(into.begin(), into.end(), s.key()) == into.end())
      into.push_back(s.key());
  for (const auto& below : verb.verbs) shared_keys(*below, into);
}

void all_variables(const VerbOptions& verb, std::vector<std::string>& into) {
  for (const Setting& s : verb.settings)
    if (s.configurable) into.push_back(s.environment());
  for (const auto& below : verb.verbs) all_variables(*below, into);
}

Setting* find_shared(VerbOptions& verb, const std::string& key) {
  if (Setting* s = verb.find_key(key); s != nullptr && s->is_shared()) return s;
  for (const auto& below : verb.verbs)
    if (Setting* s = find_shared(*below, key)) return s;
  return nullptr;
}

// The keys that the table of `verb` may have.
std::vector<std::string> known_names(const VerbOptions& verb) {
  std::vector<std::string> names;
  for (const auto& below : verb.verbs)
    if (below->reads_config) names.push_back(below->app->get_name());
  if (verb.parent == nullptr) shared_keys(verb, names);
  for (const Setting& s : verb.settings)
    if (s.configurable) names.push_back(s.key());
  return names;
}

// The verbs that have a setting of this name: the line [fit] may have been forgotten.
std::string table_with(const VerbOptions& verb, const std::string& key) {
  for (const auto& below : verb.verbs) {
    if (below->find_key(key) != nullptr) return below->table();
    if (std::string found = table_with(*below, key); !found.empty()) return found;
  }
  return {};
}

UsageError unknown_entry(const std::string& where, const io::ConfigEntry& entry, VerbOptions& verb,
                         VerbOptions& tree) {
  const std::string& name = entry.path.back();
  const std::vector<std::string> known = known_names(verb);
  const std::string table = verb.table();
  for (const Setting& s : verb.settings)
    if (s.key() == name)
      return {fmt::format("{}: '{}' cannot be configured", where, dotted(entry.path)),
              "it belongs to one run", fmt::format("give it on the command line: {}", s.flag())};
  std::string fix = fmt::format("see 'veldt config show{}'", table.empty() ? "" : " " + verb.path());
  if (const std::string nearest = io::nearest_of(name, known); !nearest.empty())
    fix = fmt::format("did you mean '{}'?", nearest);
  else if (const std::string other = table_with(tree, name); !other.empty())
    fix = fmt::format("did you mean the one of [{}]? Put it below that line", other);
  return {fmt::format("{}: there is no setting '{}'", where, dotted(entry.path)),
          fmt::format("{} can hold {}", table.empty() ? "the top of the file" : "[" + table + "]",
                      fmt::join(known, ", ")),
          fix};
}

bool fits(ValueKind kind, io::TomlType type) {
  switch (kind) {
    case ValueKind::count: return type == io::TomlType::whole;
    case ValueKind::number: return type == io::TomlType::whole || type == io::TomlType::number;
    case ValueKind::duration:
      return type == io::TomlType::text || type == io::TomlType::whole || type == io::TomlType::number;
    case ValueKind::text: return type == io::TomlType::text || type == io::TomlType::whole;
    case ValueKind::choice:
    case ValueKind::path: return type == io::TomlType::text;
    case ValueKind::on_off: return type == io::TomlType::on_off;
  }
  return false;
}

std::string wanted(const Setting& s) {
  const std::string key = s.key();
  switch (s.kind) {
    case ValueKind::count: return fmt::format("write a whole number, as in {} = 100", key);
    case ValueKind::number: return fmt::format("write a number, as in {} = 0.5", key);
    case ValueKind::duration: return fmt::format("write a time, as in {} = \"30s\"", key);
    case ValueKind::choice:
      return fmt::format("write a name in quotes, as in {} = \"{}\"", key, s.choices[0]);
    case ValueKind::on_off: return fmt::format("write {} = true or {} = false", key, key);
    case ValueKind::text:
    case ValueKind::path: break;
  }
  return fmt::format("write a text in quotes, {} = \"..\" ({})", key, s.option->get_type_name());
}

// The setting that an entry names, or null for a table; throws for anything else.
Setting* check_entry(const ConfigFile& file, const io::ConfigEntry& entry, VerbOptions& tree) {
  const std::string where = fmt::format("{}:{}", file.path, entry.line);
  VerbOptions* verb = &tree;
  for (std::size_t i = 0; i + 1 < entry.path.size(); ++i) {
    VerbOptions* const below = verb->find_verb(entry.path[i]);
    if (below == nullptr) throw unknown_entry(where, entry, *verb, tree);
    verb = below;
  }
  const std::string& name = entry.path.back();
  Setting* setting = verb->parent == nullptr ? find_shared(tree, name) : verb->find_key(name);
  const VerbOptions* below = verb->find_verb(name);
  if (below != nullptr && below->reads_config && entry.type == io::TomlType::table) return nullptr;
  if (setting == nullptr && !(below != nullptr && below->reads_config))
    throw unknown_entry(where, entry, *verb, tree);
  if (setting == nullptr)
    throw UsageError(fmt::format("{}: '{}' cannot be {}", where, dotted(entry.path), entry.type_in_words),
                     "it is a table of settings",
                     fmt::format("write its settings below a line [{}]", dotted(entry.path)));
  if (!fits(setting->kind, entry.type))
    throw UsageError(fmt::format("{}: '{}' cannot be {}", where, dotted(entry.path), entry.type_in_words),
                     "it has the wrong type", wanted(*setting));
  return setting;
}

// A setting that a stronger one excludes is skipped; two that exclude each other in one `file` are an error.
bool stands_back(const VerbOptions& verb, const Setting& setting, const std::string& file) {
  for (const Setting& other : verb.settings) {
    const auto excluded = setting.option->get_excludes();
    if (other.origin == "default" || excluded.count(other.option) == 0) continue;
    if (!file.empty() && other.origin.starts_with(file + ":"))
      throw UsageError(
          fmt::format("{}: '{}' and '{}' cannot both be set", other.origin, setting.key(), other.key()),
          "the two ask for different things", "leave one of them out");
    return true;
  }
  return false;
}

void apply_entry(VerbOptions& verb, Setting& setting, const ConfigFile& file, const io::ConfigEntry& entry) {
  if (setting.origin != "default" || stands_back(verb, setting, file.path)) return;
  const std::string at = fmt::format("{}:{}", file.path, entry.line);
  setting.take({fmt::format("{}: '{}'", at, setting.key()), setting.key() + " = ", true}, entry.text, at);
}

}  // namespace

std::vector<ConfigPlace> config_places(const std::string& named) {
  std::vector<ConfigPlace> places;
  if (!named.empty()) places.push_back({named, "--config", true, false});
  places.push_back({"veldt.toml", "the working directory", false, false});
  places.push_back({user_config_path(), "the user's own", false, false});
  // A directory that may not be entered holds no settings: in a container HOME may be another user's.
  std::error_code none;
  for (ConfigPlace& place : places) place.exists = std::filesystem::exists(place.path, none);
  return places;
}

std::vector<std::string> mistyped_variables(const VerbOptions& tree) {
  std::vector<std::string> known, notes;
  all_variables(tree, known);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry, name = text.substr(0, text.find('='));
    if (!name.starts_with("VELDT_") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    // Without the common prefix, or any two names would be similar.
    std::vector<std::string> endings;
    for (const std::string& k : known) endings.push_back(k.substr(6));
    const std::string nearest = io::nearest_of(name.substr(6), endings);
    if (!nearest.empty())
      notes.push_back(fmt::format("{} is not a setting; did you mean VELDT_{}?", name, nearest));
  }
  return notes;
}

std::vector<ConfigFile> read_config(const std::string& named, VerbOptions& tree) {
  std::vector<ConfigFile> files;
  for (const ConfigPlace& place : config_places(named)) {
    if (!place.exists && !place.must_exist) continue;
    ConfigFile file{place.path, io::read_config_file(place.path)};
    for (const io::ConfigEntry& entry : file.entries) check_entry(file, entry, tree);
    files.push_back(std::move(file));
  }
  return files;
}

void apply_environment(VerbOptions& verb) {
  for (Setting& setting : verb.settings) {
    if (!setting.configurable || setting.origin != "default") continue;
    const std::string name = setting.environment();
    const char* text = std::getenv(name.c_str());
    if (text == nullptr || *text == '\0' || stands_back(verb, setting, "")) continue;
    setting.take({name, name + "="}, text, name);
  }
}

// Within a file the verb's own table is stronger than the top, which is for all verbs.
void apply_config(VerbOptions& verb, const std::vector<ConfigFile>& files) {
  const std::string table = verb.table();
  for (const ConfigFile& file : files)
    for (const bool own : {true, false})
      for (const io::ConfigEntry& entry : file.entries) {
        const std::vector<std::string> above(entry.path.begin(), std::prev(entry.path.end()));
        if (entry.type == io::TomlType::table || (own ? dotted(above) != table : !above.empty())) continue;
        Setting* setting = verb.find_key(entry.path.back());
        if (setting != nullptr && (own || setting->is_shared())) apply_entry(verb, *setting, file, entry);
      }
}

void resolve(VerbOptions& verb, const std::string& named, VerbOptions& tree) {
  const std::vector<ConfigFile> files = read_config(named, tree);
  apply_environment(verb);
  apply_config(verb, files);
}

}  // namespace veldt::cli
