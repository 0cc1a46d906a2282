// Writes a recipe as the TOML file that would be read as the same.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "veldt/io/json.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {
namespace {

// JSON's escapes are TOML's, which also wants one for DEL.
std::string in_quotes(const std::string& text) {
  std::string quoted;
  for (const char c : io::dump_json(nlohmann::json(text))) {
    if (c == 0x7f)
      quoted += "\\u007f";
    else
      quoted += c;
  }
  return quoted;
}

bool is_bare_key(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-');
  });
}

std::string key_text(const std::string& name) { return is_bare_key(name) ? name : in_quotes(name); }

bool is_plain_integer(const std::string& text) {
  return !text.empty() && text.size() < 18 && (text.size() == 1 || text[0] != '0') &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

std::string value_text(const std::string& key, const std::vector<std::string>& texts) {
  const io::TomlType type = type_of_key(key).value_or(io::TomlType::text);
  if (type == io::TomlType::list) {
    std::vector<std::string> items;
    for (const std::string& text : texts) items.push_back(in_quotes(text));
    return items.size() < 3 ? fmt::format("[{}]", fmt::join(items, ", "))
                            : fmt::format("[\n  {},\n]", fmt::join(items, ",\n  "));
  }
  const std::string& text = texts.at(0);
  const io::Source source{key, "", true};
  // "10k" is a number for --set alone, and 1e-3 is one everywhere.
  if (type == io::TomlType::whole) return fmt::format("{}", io::count_from(source, text, {}));
  if (type == io::TomlType::number) return fmt::format("{}", io::number_from(source, text, {}));
  if (type == io::TomlType::on_off) return io::switch_from(source, text) ? "true" : "false";
  if (type == io::TomlType::other && is_plain_integer(text)) return text;
  return in_quotes(text);
}

// The table and the name in it: {"block.residual", "layers"}, {"optimizer.groups", "layer4.1"}.
std::pair<std::string, std::string> table_and_name(const std::string& key) {
  const std::string groups = "optimizer.groups.";
  if (key.starts_with(groups)) return {"optimizer.groups", key.substr(groups.size())};
  const std::size_t first = key.find('.'), last = key.rfind('.');
  const std::string table = key.substr(0, first), name = key.substr(last + 1);
  if (first == last) return {table, name};
  return {table + '.' + key_text(key.substr(first + 1, last - first - 1)), name};
}

}  // namespace

std::string in_toml(const Recipe& recipe) {
  std::vector<std::pair<std::string, std::string>> tables;  // with their lines
  for (const auto& [key, texts] : recipe.given) {
    const auto [table, name] = table_and_name(key);
    const auto is_it = [&table = table](const auto& other) { return other.first == table; };
    auto at = std::find_if(tables.begin(), tables.end(), is_it);
    if (at == tables.end()) at = tables.insert(tables.end(), {table, ""});
    at->second += fmt::format("{} = {}\n", key_text(name), value_text(key, texts));
  }
  std::string text;
  for (const auto& [table, lines] : tables)
    text += fmt::format("{}[{}]\n{}", text.empty() ? "" : "\n", table, lines);
  return text;
}

}  // namespace veldt::recipe
