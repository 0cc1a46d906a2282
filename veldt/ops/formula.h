// Elementwise formulas of kernels/ by name, so that a public op is one line of a header without including
// kernels/. Not meant for programs, although their includes contain it.
// Tests: tests/ops/formula_test.cpp
#pragma once

#include <cstddef>

#include "veldt/tensor/tensor.h"

namespace veldt {

// A name as a template argument, so that it is looked up once.
struct FormulaName {
  char text[32] = {};
  template <std::size_t n> consteval FormulaName(const char (&name)[n]) {  // NOLINT: reads like the name
    static_assert(n <= sizeof(text), "the name of a formula has at most 31 letters");
    for (std::size_t i = 0; i < n; ++i) text[i] = name[i];
  }
};

// The place of a formula in scalar::UnaryOps, as a backend counts it. Throws Error if there is none.
int unary_formula(const char* name);
// The formula applied to x, which keeps a float dtype and otherwise becomes f32; a and b are the formula's
// constants, in its order. Its gradient follows from the formula's slope, to any order.
Tensor unary(int formula, const Tensor& x, double a = 0, double b = 0);

template <FormulaName name> Tensor unary(const Tensor& x, double a = 0, double b = 0) {
  static const int formula = unary_formula(name.text);
  return unary(formula, x, a, b);
}

// The same of two numbers, in scalar::BinaryOps. Throws Error for one that has no slopes of its own.
int binary_formula(const char* name);
// The formula of a and b, which are broadcast, in promote() of their dtypes, or in f32 if that is not a
// float.
Tensor binary(int formula, const Tensor& a, const Tensor& b);

template <FormulaName name> Tensor binary(const Tensor& a, const Tensor& b) {
  static const int formula = binary_formula(name.text);
  return binary(formula, a, b);
}

}  // namespace veldt
