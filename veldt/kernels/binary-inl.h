// Formulas of two numbers: forward of floats, and `whole` of whole numbers where there is one (overflow
// wraps, and a division by 0 gives 0). Their gradients are written with ops in ops/binary.cpp.
#if defined(VELDT_KERNELS_BINARY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_BINARY_INL
#undef VELDT_KERNELS_BINARY_INL
#else
#define VELDT_KERNELS_BINARY_INL
#endif

#include <cstdint>
#include <type_traits>

#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/type_list.h"
#include "veldt/kernels/open-inl.h"

// What whole numbers are computed in, for its overflow is defined: at least 32 bits, because C++ would
// compute narrower ones as int.
template <class I> using Wrapping = std::conditional_t<sizeof(I) == 8, std::uint64_t, std::uint32_t>;
template <class I> VELDT_FN Wrapping<I> wrapping(I x) { return static_cast<Wrapping<I>>(x); }

struct Add {
  static constexpr const char* name = "add";
  template <class F> VELDT_FN static F forward(F a, F b) { return a + b; }
  template <class I> VELDT_FN static I whole(I a, I b) { return static_cast<I>(wrapping(a) + wrapping(b)); }
};
struct Sub {
  static constexpr const char* name = "sub";
  template <class F> VELDT_FN static F forward(F a, F b) { return a - b; }
  template <class I> VELDT_FN static I whole(I a, I b) { return static_cast<I>(wrapping(a) - wrapping(b)); }
};
struct Mul {
  static constexpr const char* name = "mul";
  template <class F> VELDT_FN static F forward(F a, F b) { return a * b; }
  template <class I> VELDT_FN static I whole(I a, I b) { return static_cast<I>(wrapping(a) * wrapping(b)); }
};
struct Div {
  static constexpr const char* name = "div";
  template <class F> VELDT_FN static F forward(F a, F b) { return a / b; }
};
struct Pow {
  static constexpr const char* name = "pow";
  template <class F> VELDT_FN static F forward(F a, F b) { return pow(a, b); }
  // Squares and multiplies; of a negative exponent the fraction is cut off.
  template <class I> VELDT_FN static I whole(I a, I b) {
    if (b < I(0)) return a == I(1) ? a : a == static_cast<I>(-1) ? (b % 2 == 0 ? I(1) : a) : I(0);
    Wrapping<I> y = 1, square = wrapping(a);
    for (; b != I(0); b = static_cast<I>(b / 2), square *= square)
      if (b % 2 != 0) y *= square;
    return static_cast<I>(y);
  }
};
// A NaN on either side wins.
struct Maximum {
  static constexpr const char* name = "maximum";
  template <class F> VELDT_FN static F forward(F a, F b) { return select_nan(a, a, select_gt(a, b, a, b)); }
  template <class I> VELDT_FN static I whole(I a, I b) { return a > b ? a : b; }
};
struct Minimum {
  static constexpr const char* name = "minimum";
  template <class F> VELDT_FN static F forward(F a, F b) { return select_nan(a, a, select_gt(b, a, a, b)); }
  template <class I> VELDT_FN static I whole(I a, I b) { return a < b ? a : b; }
};

using BinaryOps = TypeList<Add, Sub, Mul, Div, Pow, Maximum, Minimum>;

#include "veldt/kernels/close-inl.h"
#endif
