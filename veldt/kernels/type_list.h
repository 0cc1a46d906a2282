// A list of formula types, and the position of one in it: the whole registration of an elementwise op.
#pragma once

#include <type_traits>

namespace veldt {

template <class... Ts> struct TypeList { static constexpr int size = static_cast<int>(sizeof...(Ts)); };

template <class T, class List> struct IndexOf;
template <class T, class... Ts> struct IndexOf<T, TypeList<Ts...>> {
  static constexpr int find() {
    int i = 0, found = -1;
    ((found = std::is_same_v<T, Ts> ? i : found, ++i), ...);
    return found;
  }
  static constexpr int value = find();
  static_assert(value >= 0, "this formula is not in the list");
};

}  // namespace veldt
