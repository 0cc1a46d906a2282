// Comparisons of two numbers of any dtype, as in IEEE 754: with a NaN only not_equal is true. Constexpr, so
// that CUDA kernels can call them.
// Tests: tests/kernels/formulas_test.cpp, tests/kernels/glsl_test.cpp
#pragma once

#include "veldt/kernels/type_list.h"

namespace veldt {

struct Equal {
  static constexpr const char* name = "equal";
  template <class T> static constexpr auto holds(T a, T b) -> decltype(a == b) { return a == b; }
};
struct NotEqual {
  static constexpr const char* name = "not_equal";
  template <class T> static constexpr auto holds(T a, T b) -> decltype(a == b) { return a != b; }
};
struct Less {
  static constexpr const char* name = "less";
  template <class T> static constexpr auto holds(T a, T b) -> decltype(a == b) { return a < b; }
};
struct LessEqual {
  static constexpr const char* name = "less_equal";
  template <class T> static constexpr auto holds(T a, T b) -> decltype(a == b) { return a <= b; }
};
struct Greater {
  static constexpr const char* name = "greater";
  template <class T> static constexpr auto holds(T a, T b) -> decltype(a == b) { return a > b; }
};
struct GreaterEqual {
  static constexpr const char* name = "greater_equal";
  template <class T> static constexpr auto holds(T a, T b) -> decltype(a == b) { return a >= b; }
};
// Everything except 0 counts as true, also a NaN.
struct LogicalAnd {
  static constexpr const char* name = "logical_and";
  template <class T> static constexpr auto holds(T a, T b) -> decltype(a == b) {
    return (a != T(0)) & (b != T(0));
  }
};
struct LogicalOr {
  static constexpr const char* name = "logical_or";
  template <class T> static constexpr auto holds(T a, T b) -> decltype(a == b) {
    return (a != T(0)) | (b != T(0));
  }
};
struct LogicalXor {
  static constexpr const char* name = "logical_xor";
  template <class T> static constexpr auto holds(T a, T b) -> decltype(a == b) {
    return (a != T(0)) != (b != T(0));
  }
};

using CompareOps =
    TypeList<Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, LogicalAnd, LogicalOr, LogicalXor>;

}  // namespace veldt
