// Formulas of two numbers. Their gradients are written with ops in ops/binary.cpp.
#if defined(VELDT_KERNELS_BINARY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_BINARY_INL
#undef VELDT_KERNELS_BINARY_INL
#else
#define VELDT_KERNELS_BINARY_INL
#endif

#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/type_list.h"
#include "veldt/kernels/open-inl.h"

struct Add {
  static constexpr const char* name = "add";
  template <class F> VELDT_FN static F forward(F a, F b) { return a + b; }
};
struct Sub {
  static constexpr const char* name = "sub";
  template <class F> VELDT_FN static F forward(F a, F b) { return a - b; }
};
struct Mul {
  static constexpr const char* name = "mul";
  template <class F> VELDT_FN static F forward(F a, F b) { return a * b; }
};
struct Div {
  static constexpr const char* name = "div";
  template <class F> VELDT_FN static F forward(F a, F b) { return a / b; }
};
struct Pow {
  static constexpr const char* name = "pow";
  template <class F> VELDT_FN static F forward(F a, F b) { return pow(a, b); }
};
// A NaN on either side wins.
struct Maximum {
  static constexpr const char* name = "maximum";
  template <class F> VELDT_FN static F forward(F a, F b) { return select_nan(a, a, select_gt(a, b, a, b)); }
};
struct Minimum {
  static constexpr const char* name = "minimum";
  template <class F> VELDT_FN static F forward(F a, F b) { return select_nan(a, a, select_gt(b, a, a, b)); }
};

using BinaryOps = TypeList<Add, Sub, Mul, Div, Pow, Maximum, Minimum>;

#include "veldt/kernels/close-inl.h"
#endif
