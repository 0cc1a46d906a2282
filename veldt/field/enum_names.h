// Enums by their names: one array of names each, in the order of the enum.
// Tests: tests/field/options_test.cpp
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/core/error.h"

namespace veldt::field {

template <std::size_t n> using EnumNames = std::array<std::string_view, n>;

template <class Enum, std::size_t n>
std::optional<Enum> enum_named(const EnumNames<n>& names, std::string_view name) {
  for (std::size_t i = 0; i < n; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

// Throws ConfigError listing the names there are; `what` is called so.
template <class Enum, std::size_t n>
Enum enum_from(const EnumNames<n>& names, std::string_view name, const char* what) {
  if (const auto found = enum_named<Enum>(names, name)) return *found;
  std::string list;
  for (std::size_t i = 0; i < n; ++i) list += str(i == 0 ? "" : i + 1 == n ? " and " : ", ", names[i]);
  throw ConfigError(str("there is no ", what, " called '", name, "'"), str("there are ", list),
                    "choose one of them");
}

template <std::size_t n> std::vector<std::string> in_a_list(const EnumNames<n>& names) {
  return {names.begin(), names.end()};
}

}  // namespace veldt::field
