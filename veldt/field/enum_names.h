// Enums by their names: one list of names each, in the order of the enum.
// Tests: tests/field/options_test.cpp
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/core/error.h"

namespace veldt::field {

// Whether the enum has a name for this value: the compiler writes one that has none as a cast, "(Loss)3".
template <auto value> constexpr bool is_enumerator() {
  return std::string_view(__PRETTY_FUNCTION__).find("value = (") == std::string_view::npos;
}

// The names of all enumerators, from 0 on. One more or less than the enum has does not compile.
template <class Enum, std::size_t n> struct EnumNames {
  static_assert(is_enumerator<static_cast<Enum>(n - 1)>() && !is_enumerator<static_cast<Enum>(n)>(),
                "each enumerator needs one name");
  std::array<std::string_view, n> names;

  constexpr std::string_view operator[](Enum value) const { return names[static_cast<std::size_t>(value)]; }
  std::optional<Enum> find(std::string_view name) const {
    for (std::size_t i = 0; i < n; ++i)
      if (names[i] == name) return static_cast<Enum>(i);
    return std::nullopt;
  }
  // Throws ConfigError listing the known names; `what` names the kind of thing.
  Enum at(std::string_view name, const char* what) const {
    if (const auto found = find(name)) return *found;
    std::string list;
    for (std::size_t i = 0; i < n; ++i) list += str(i == 0 ? "" : i + 1 == n ? " and " : ", ", names[i]);
    throw ConfigError(str("there is no ", what, " called '", name, "'"), str("there are ", list),
                      "choose one of them");
  }
  std::vector<std::string> in_a_list() const { return {names.begin(), names.end()}; }
};

template <class Enum, class... Name> constexpr EnumNames<Enum, sizeof...(Name)> names_of(Name... names) {
  return {{names...}};
}

}  // namespace veldt::field
