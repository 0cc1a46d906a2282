// A list of formula types, and the index of one in it: the whole registration of an elementwise op.
// Constexpr, so that CUDA kernels can call it.
// Tests: tests/kernels/formulas_test.cpp, tests/kernels/glsl_test.cpp
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

template <int kIndex, class List> struct Found;
template <int kIndex, class T, class... Ts> struct Found<kIndex, TypeList<T, Ts...>> {
  using type = typename Found<kIndex - 1, TypeList<Ts...>>::type;
};
template <class T, class... Ts> struct Found<0, TypeList<T, Ts...>> { using type = T; };
template <class A, class B> struct Joining;
template <class... A, class... B> struct Joining<TypeList<A...>, TypeList<B...>> {
  using type = TypeList<A..., B...>;
};
// The formulas of both lists.
template <class A, class B> using Joined = typename Joining<A, B>::type;

// The formula at an index of a list.
template <int kIndex, class List> using TypeAt = typename Found<kIndex, List>::type;

// The formula, constructed with as many constants as it has.
template <class Op> constexpr Op formula(double a, double b) {
  if constexpr (std::is_empty_v<Op>)
    return Op{};
  else if constexpr (requires { Op{a, b}; })
    return Op{a, b};
  else
    return Op{a};
}

}  // namespace veldt
