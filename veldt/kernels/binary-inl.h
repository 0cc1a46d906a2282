// Formulas of two and three numbers: forward for floats, and `whole` for integers if there is one (overflow
// wraps, and a division by 0 gives 0). slope_a and slope_b are the derivatives, of a, b and y = forward(a,
// b); gradients of a and b that share terms are written with ops in ops/binary.cpp and ops/ternary.cpp.
// Tests: tests/kernels/formulas_test.cpp, tests/cpu/binary_test.cpp, tests/kernels/glsl_test.cpp
#if defined(VELDT_KERNELS_BINARY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_BINARY_INL
#undef VELDT_KERNELS_BINARY_INL
#else
#define VELDT_KERNELS_BINARY_INL
#endif

#include <cstdint>
#include <type_traits>

#include "veldt/kernels/division-inl.h"
#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/plane-inl.h"
#include "veldt/kernels/power-inl.h"
#include "veldt/kernels/type_list.h"
#include "veldt/kernels/open-inl.h"

// The unsigned type in which integers are computed, because its overflow is defined: at least 32 bits,
// because C++ would compute narrower ones as int.
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
  // Squares and multiplies; for a negative exponent the fraction is truncated.
  template <class I> VELDT_FN static I whole(I a, I b) {
    if (b < I(0)) return a == I(1) ? a : a == static_cast<I>(-1) ? (b % 2 == 0 ? I(1) : a) : I(0);
    Wrapping<I> y = 1, square = wrapping(a);
    for (; b != I(0); b = static_cast<I>(b / 2), square *= square)
      if (b % 2 != 0) y *= square;
    return static_cast<I>(y);
  }
};
// A NaN on either side takes precedence.
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

// False for an unsigned type, where -1 is the largest number.
template <class I> VELDT_FN bool is_minus_one(I x) {
  return static_cast<I>(-1) < I(0) && x == static_cast<I>(-1);
}

// yes if one is above 0 and the other below
template <class F> VELDT_FN F if_opposite(F a, F b, F yes, F no) {
  return select_gt(a, F(0), select_gt(F(0), b, yes, no), select_gt(F(0), a, select_gt(b, F(0), yes, no), no));
}

// a - b trunc(a / b), exactly: it has the sign of a. Division by 0: NaN, for integers 0.
struct Fmod {
  static constexpr const char* name = "fmod";
  template <class F> VELDT_FN static F forward(F a, F b) { return fmod(a, b); }
  template <class I> VELDT_FN static I whole(I a, I b) {
    if (b == I(0) || is_minus_one(b)) return I(0);  // the lowest number over -1 would overflow
    return static_cast<I>(a % b);
  }
};

// a - b floor(a / b): it has the sign of b, as Python's %.
struct Remainder {
  static constexpr const char* name = "remainder";
  template <class F> VELDT_FN static F forward(F a, F b) {
    const F m = fmod(a, b);
    return if_opposite(m, b, m + b, m);
  }
  template <class I> VELDT_FN static I whole(I a, I b) {
    const I m = Fmod::whole(a, b);
    return m != I(0) && (m < I(0)) != (b < I(0)) ? static_cast<I>(m + b) : m;
  }
};

// floor(a / b) of the exact quotient, as Python's //.
struct FloorDivide {
  static constexpr const char* name = "floor_divide";
  template <class F> VELDT_FN static F forward(F a, F b) {
    const F m = fmod(a, b), ratio = a / b;
    const F cut = (a - m) / b, quotient = if_opposite(m, b, cut - F(1), cut);  // whole but for its rounding
    const F below = floor(quotient);
    const F near = select_gt(quotient - below, F(0.5), below + F(1), below);
    const F signed_near = select_gt(abs(near), F(0), near, copysign(F(0), ratio));
    return select_gt(abs(b), F(0), select_nan(quotient, quotient, signed_near), ratio);
  }
  template <class I> VELDT_FN static I whole(I a, I b) {
    if (b == I(0)) return I(0);
    if (is_minus_one(b)) return Sub::whole(I(0), a);
    const I quotient = static_cast<I>(a / b);
    return a % b != I(0) && (a < I(0)) != (b < I(0)) ? static_cast<I>(quotient - 1) : quotient;
  }
};

// The angle of the point (b, a).
struct Atan2 {
  static constexpr const char* name = "atan2";
  template <class F> VELDT_FN static F forward(F a, F b) { return atan2(a, b); }
};

// sqrt(a^2 + b^2) without overflow
struct Hypot {
  static constexpr const char* name = "hypot";
  template <class F> VELDT_FN static F forward(F a, F b) { return hypot(a, b); }
  template <class F> VELDT_FN static F slope_a(F a, F, F y) { return a / y; }
  template <class F> VELDT_FN static F slope_b(F, F b, F y) { return b / y; }
};

// log(e^a + e^b) without overflow
struct Logaddexp {
  static constexpr const char* name = "logaddexp";
  template <class F> VELDT_FN static F forward(F a, F b) {
    const F d = a - b;  // equal infinities would give NaN; they stay
    return select_nan(d, a + b, select_gt(a, b, a, b) + log1p(exp(-abs(d))));
  }
  template <class F> VELDT_FN static F slope_a(F a, F b, F) { return logistic(a - b); }
  template <class F> VELDT_FN static F slope_b(F a, F b, F) { return logistic(b - a); }
};

using BinaryOps = TypeList<Logaddexp, Add, Sub, Mul, Div, Pow, Maximum, Minimum, Fmod, Remainder, FloorDivide,
                           Atan2, Hypot>;

struct MultiplyAdd {
  static constexpr const char* name = "multiply_add";
  template <class F> VELDT_FN static F forward(F a, F b, F c) { return a * b + c; }
};
struct SubtractMultiply {
  static constexpr const char* name = "subtract_multiply";
  template <class F> VELDT_FN static F forward(F a, F b, F c) { return (a - b) * c; }
};
struct Lerp {
  static constexpr const char* name = "lerp";
  template <class F> VELDT_FN static F forward(F a, F b, F weight) { return a + weight * (b - a); }
};

using TernaryOps = TypeList<MultiplyAdd, SubtractMultiply, Lerp>;

#include "veldt/kernels/close-inl.h"
#endif
