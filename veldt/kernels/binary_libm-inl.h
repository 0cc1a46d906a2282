// Formulas of two numbers that are computed one at a time, by libm: rare ones, and those of many branches. A
// backend counts them on from the end of BinaryOps.
#if defined(VELDT_KERNELS_BINARY_LIBM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_BINARY_LIBM_INL
#undef VELDT_KERNELS_BINARY_LIBM_INL
#else
#define VELDT_KERNELS_BINARY_LIBM_INL
#endif

#include <cmath>

#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/open-inl.h"

VELDT_FN float fmod(float a, float b) { return ::fmodf(a, b); }
VELDT_FN double fmod(double a, double b) { return ::fmod(a, b); }
VELDT_FN float copysign(float x, float s) { return ::copysignf(x, s); }
VELDT_FN double copysign(double x, double s) { return ::copysign(x, s); }
VELDT_FN float atan2(float y, float x) { return ::atan2f(y, x); }
VELDT_FN double atan2(double y, double x) { return ::atan2(y, x); }
VELDT_FN float hypot(float a, float b) { return ::hypotf(a, b); }
VELDT_FN double hypot(double a, double b) { return ::hypot(a, b); }

// False for an unsigned type, where -1 is the largest number.
template <class I> VELDT_FN bool is_minus_one(I x) {
  return static_cast<I>(-1) < I(0) && x == static_cast<I>(-1);
}

// a - b trunc(a / b), exactly: it has the sign of a. By 0: NaN, of whole numbers 0.
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
    return m != F(0) && (m < F(0)) != (b < F(0)) ? m + b : m;
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
    if (b == F(0)) return a / b;
    const F m = fmod(a, b);
    F quotient = (a - m) / b;  // a whole number but for its rounding
    if (m != F(0) && (m < F(0)) != (b < F(0))) quotient = quotient - F(1);
    if (quotient == F(0)) return copysign(F(0), a / b);
    const F below = floor(quotient);
    return quotient - below > F(0.5) ? below + F(1) : below;
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
};

using BinaryLibmOps = TypeList<Fmod, Remainder, FloorDivide, Atan2, Hypot>;

#include "veldt/kernels/close-inl.h"
#endif
