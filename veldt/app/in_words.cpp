// Lays out a JSON object as lines of text, and lists of objects as tables.
#include "veldt/app/in_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "veldt/cli/terminal.h"

namespace veldt::app {
namespace {

using cli::on_one_line;
using Json = nlohmann::ordered_json;

std::string scalar_in_words(const Json& value) {
  if (value.is_string()) return on_one_line(value.get<std::string>());
  if (value.is_null()) return "-";  // of a checkpoint that cannot be read
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return on_one_line(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// `of_recipe`: a list as TOML has it, to be copied.
std::string value_in_words(const Json& value, bool of_recipe = false) {
  if (of_recipe && value.is_array())
    return on_one_line(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!value.is_array()) return scalar_in_words(value);
  std::vector<std::string> parts;
  for (const Json& part : value) parts.push_back(scalar_in_words(part));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

bool is_nested(const Json& value) {
  return value.is_object() || (value.is_array() && !value.empty() && value.front().is_object());
}

// Behind a space is what a recipe says: "test_accuracy gaussian_noise(0.1)". A recipe's own keys, as
// train.evaluate_every, stay what they are.
std::string key_in_words(const std::string& key, bool of_recipe = false) {
  std::string name = on_one_line(key);
  if (of_recipe) return name;
  std::replace(name.begin(), std::find(name.begin(), name.end(), ' '), '_', ' ');
  return name;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key_in_words(key));
  return keys;
}

// Objects of a list, one per line: below a header if they have the same keys, else with a key before each
// value.
std::string rows_in_words(const Json& rows, int depth) {
  const std::vector<std::string> head = keys_of(rows.front());
  const bool is_table =
      std::all_of(rows.begin(), rows.end(), [&](auto& row) { return keys_of(row) == head; });
  std::vector<std::vector<std::string>> lines;
  if (is_table) lines.push_back(head);
  for (const Json& row : rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const auto& [key, value] : row.items())
      line.push_back((is_table ? "" : key_in_words(key) + " ") + value_in_words(value));
  }
  std::vector<std::size_t> widths(is_table ? head.size() : 0);
  for (const auto& line : lines)
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string text;
  for (auto& line : lines) {
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) line[i].resize(widths[i], ' ');
    text += fmt::format("{:{}}{}\n", "", 2 * depth, fmt::join(line, "  "));
  }
  return text;
}

std::string lines_of(const Json& object, int depth, bool of_recipe) {
  std::size_t widest = 0;
  for (const auto& [key, value] : object.items())
    if (!is_nested(value)) widest = std::max(widest, key_in_words(key, of_recipe).size());
  std::string text;
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  for (const auto& [key, value] : object.items()) {
    const std::string name = key_in_words(key, of_recipe);
    if (!is_nested(value)) {
      text += fmt::format("{}{:<{}}  {}\n", indent, name, widest, value_in_words(value, of_recipe));
    } else {
      text += fmt::format("{}{}\n", indent, name);
      text +=
          value.is_object() ? lines_of(value, depth + 1, key == "recipe") : rows_in_words(value, depth + 1);
    }
  }
  return text;
}

}  // namespace

std::string in_words(const Json& object, int depth) { return lines_of(object, depth, false); }

}  // namespace veldt::app
