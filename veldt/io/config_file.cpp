// The one place that sees the TOML library, which is slow to compile.
#include "veldt/io/config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "veldt/io/config_text.h"
#include "veldt/io/file.h"
#include "veldt/io/magic.h"

#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>

namespace veldt::io {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 1 << 18;  // a configuration is a page of text

ConfigFileError refused_config(const ConfigForm& form, const std::string& where, const std::string& why,
                               const std::string& fix) {
  return {fmt::format("cannot read the {} {}", form.name, where), why, fix};
}

// A picture or a model has no lines that an error could speak of.
void check_is_text(const std::string& path, std::string_view head, const ConfigForm& form) {
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 &&
           std::string_view("\t\n\r").find(c) == std::string_view::npos;
  };
  if (!known_content(head).empty() && std::any_of(head.begin(), head.end(), is_control))
    throw refused_config(form, path, seems_to_be(head), form.wanted);
}

std::string text_of_file(const std::string& path, const ConfigForm& form) {
  InputFile file(path);
  std::string head(kMagicBytes, '\0');
  head.resize(file.read(head.data(), head.size()));
  check_is_text(path, head, form);
  if (file.size() > kMaxConfigBytes)
    throw refused_config(
        form, path, fmt::format("it has {} bytes, and at most {} are read", file.size(), kMaxConfigBytes),
        form.wanted);
  return read_file(path, kMaxConfigBytes);
}

ConfigEntry entry_of(const toml::node& node) {
  ConfigEntry entry;
  entry.line = static_cast<int>(node.source().begin.line);
  const auto is = [&](TomlType type, const char* words, std::string text) {
    entry.type = type;
    entry.type_in_words = words;
    entry.text = std::move(text);
  };
  const auto* text = node.as_string();
  const auto* whole = node.as_integer();
  const auto* number = node.as_floating_point();
  const auto* on_off = node.as_boolean();
  if (node.is_table())
    is(TomlType::table, "a table", "");
  else if (text != nullptr)
    is(TomlType::text, "a text", text->get());
  else if (whole != nullptr)
    is(TomlType::whole, "a whole number", std::to_string(whole->get()));
  else if (number != nullptr)
    is(TomlType::number, "a number", fmt::format("{}", number->get()));
  else if (on_off != nullptr)
    is(TomlType::on_off, "true or false", on_off->get() ? "true" : "false");
  else if (const toml::array* list = node.as_array(); list != nullptr) {
    is(TomlType::list, "a list", "");
    for (const toml::node& item : *list) entry.items.push_back(entry_of(item));
  } else
    is(TomlType::other, "a date or a time", "");
  return entry;
}

void collect(const toml::table& table, const std::vector<std::string>& path, std::vector<ConfigEntry>& into) {
  for (const auto& [key, node] : table) {
    ConfigEntry entry = entry_of(node);
    entry.path = path;
    entry.path.emplace_back(key.str());
    // A table that is only implied by a longer name has no line of its own, so its key's line is used.
    if (entry.line == 0) entry.line = static_cast<int>(key.source().begin.line);
    const std::vector<std::string> below = entry.path;
    into.push_back(std::move(entry));
    if (const toml::table* inner = node.as_table()) collect(*inner, below, into);
  }
}

}  // namespace

std::vector<ConfigEntry> parse_config(const std::string& where, const std::string& text,
                                      const ConfigForm& form) {
  if (const auto fault = fault_in_config(text))
    throw refused_config(form, fmt::format("{}:{}", where, fault->line), fault->why, fault->fix);
  std::vector<ConfigEntry> entries;
  try {
    collect(toml::parse(std::string_view(text)), {}, entries);
  } catch (const toml::parse_error& error) {
    throw refused_config(form, fmt::format("{}:{}", where, error.source().begin.line),
                         std::string(error.description()), form.fix);
  }
  std::stable_sort(entries.begin(), entries.end(), [](const ConfigEntry& a, const ConfigEntry& b) {
    return a.line != b.line ? a.line < b.line : a.path.size() < b.path.size();
  });
  return entries;
}

std::vector<ConfigEntry> read_config_file(const std::string& path, const ConfigForm& form) {
  return parse_config(path, text_of_file(path, form), form);
}

}  // namespace veldt::io
