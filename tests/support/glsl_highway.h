// Highway's functions over text: a "register" is the name of a variable of a GLSL function that is being
// written, and each call writes a line. So kernels/*-inl.h, polynomials and all, can be compiled for a target
// that is a language. Included once, before them, by the file that writes (tests/support/glsl.cpp).
//
// A register has one lane here, and its halves are itself. What is the same is written once. Products and
// sums are rounded each (`precise`): Vulkan's fma() need not be one rounding, and lavapipe's is two.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "hwy/highway.h"

#undef HWY_NAMESPACE
#define HWY_NAMESPACE N_GLSL
#undef HWY_TARGET  // neither of the two that have paths of their own, HWY_SCALAR and HWY_EMU128
#define HWY_TARGET 0
#undef HWY_INLINE  // forced, it would write this file's strings into every formula
#define HWY_INLINE inline
#undef HWY_NATIVE_FMA
#define HWY_NATIVE_FMA 0

namespace hwy::N_GLSL {

template <class T> constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, float>) return "float";
  if constexpr (std::is_same_v<T, double>) return "double";
  if constexpr (std::is_same_v<T, std::uint32_t>) return "uint";
  if constexpr (std::is_same_v<T, std::int32_t>) return "int";
  if constexpr (std::is_same_v<T, std::uint64_t>) return "uint64_t";
  if constexpr (std::is_same_v<T, std::int64_t>) return "int64_t";
}

// The lines of the function that is being written.
struct Body {
  std::string lines;
  std::map<std::string, std::string> known;  // what stands in which variable

  std::string variable(const char* type, const std::string& expression) {
    const auto [at, is_new] =
        known.try_emplace(type + (' ' + expression), "v" + std::to_string(known.size()));
    if (is_new)
      lines += std::string("  ") + (type[0] == 'b' ? "" : "precise ") + type + ' ' + at->second + " = " +
               expression + ";\n";
    return at->second;
  }
};
inline thread_local Body* t_body = nullptr;

// A variable or a literal of a type of numbers, or of truth.
template <class T> struct Text { std::string s; };
template <class T> using Mask = Text<bool>;

template <class T, class... Parts> Text<T> line(const Parts&... parts) {
  return {t_body->variable(type_name<T>(), (std::string() + ... + parts))};
}

inline std::string text_of(float x) {
  char text[48];
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if (bits == 0 || (x > 1e-30f && x < 1e30f) || (x < -1e-30f && x > -1e30f)) {
    std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(x));
    const std::string digits = text;
    return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
  }
  std::snprintf(text, sizeof(text), "uintBitsToFloat(0x%08xu)", bits);
  return text;
}
inline std::string text_of(double x) {
  char text[64];
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if (bits == 0 || (x > 1e-300 && x < 1e300) || (x < -1e-300 && x > -1e300)) {
    std::snprintf(text, sizeof(text), "%.17g", x);
    const std::string digits = text;
    return (digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits) + "lf";
  }
  std::snprintf(text, sizeof(text), "uint64BitsToDouble(0x%016llxul)", static_cast<unsigned long long>(bits));
  return text;
}
inline std::string text_of(std::uint32_t x) { return std::to_string(x) + "u"; }
inline std::string text_of(std::int32_t x) { return std::to_string(x); }
inline std::string text_of(std::uint64_t x) { return std::to_string(x) + "ul"; }
inline std::string text_of(std::int64_t x) { return std::to_string(x) + "l"; }

template <class T> struct Simd {
  using Lane = T;
  constexpr Simd() {}  // a const one may be left without an initialiser
};
template <class T> using ScalableTag = Simd<T>;
template <class D> using TFromD = typename D::Lane;
template <class D> using Vec = Text<TFromD<D>>;
template <class T, class D> using Rebind = Simd<T>;
template <class T, class D> using Repartition = Simd<T>;
template <class D> using Half = D;
template <class D>
using RebindToUnsigned = Simd<std::conditional_t<sizeof(TFromD<D>) == 4, std::uint32_t, std::uint64_t>>;
template <class D>
using RebindToSigned = Simd<std::conditional_t<sizeof(TFromD<D>) == 4, std::int32_t, std::int64_t>>;

template <class D, class T> Vec<D> Set(D, T x) { return {text_of(static_cast<TFromD<D>>(x))}; }
template <class D> Vec<D> Zero(D d) { return Set(d, 0); }
template <class D> Vec<D> Inf(D d) { return Set(d, std::numeric_limits<TFromD<D>>::infinity()); }
template <class D> Vec<D> NaN(D d) { return Set(d, std::numeric_limits<TFromD<D>>::quiet_NaN()); }
template <class D> Vec<D> SignBit(D d) { return Set(d, -0.0); }

template <class T> Text<T> Add(Text<T> a, Text<T> b) { return line<T>(a.s, " + ", b.s); }
template <class T> Text<T> Sub(Text<T> a, Text<T> b) { return line<T>(a.s, " - ", b.s); }
template <class T> Text<T> Mul(Text<T> a, Text<T> b) { return line<T>(a.s, " * ", b.s); }
template <class T> Text<T> Div(Text<T> a, Text<T> b) { return line<T>(a.s, " / ", b.s); }
template <class T> Text<T> Neg(Text<T> x) { return line<T>("-(", x.s, ")"); }
template <class T> Text<T> MulAdd(Text<T> a, Text<T> b, Text<T> c) { return Add(Mul(a, b), c); }
template <class T> Text<T> MulSub(Text<T> a, Text<T> b, Text<T> c) { return Sub(Mul(a, b), c); }
template <class T> Text<T> NegMulAdd(Text<T> a, Text<T> b, Text<T> c) { return Sub(c, Mul(a, b)); }
template <class T> Text<T> Sqrt(Text<T> x) { return line<T>("sqrt(", x.s, ")"); }
template <class T> Text<T> Abs(Text<T> x) { return line<T>("abs(", x.s, ")"); }
template <class T> Text<T> Floor(Text<T> x) { return line<T>("floor(", x.s, ")"); }
template <class T> Text<T> Ceil(Text<T> x) { return line<T>("ceil(", x.s, ")"); }
template <class T> Text<T> Trunc(Text<T> x) { return line<T>("trunc(", x.s, ")"); }
template <class T> Text<T> Round(Text<T> x) { return line<T>("roundEven(", x.s, ")"); }
template <class T> Text<T> Min(Text<T> a, Text<T> b) { return line<T>("min(", a.s, ", ", b.s, ")"); }
template <class T> Text<T> Max(Text<T> a, Text<T> b) { return line<T>("max(", a.s, ", ", b.s, ")"); }

template <class T> Mask<T> Eq(Text<T> a, Text<T> b) { return line<bool>(a.s, " == ", b.s); }
template <class T> Mask<T> Lt(Text<T> a, Text<T> b) { return line<bool>(a.s, " < ", b.s); }
template <class T> Mask<T> Gt(Text<T> a, Text<T> b) { return line<bool>(a.s, " > ", b.s); }
template <class T> Mask<T> IsNaN(Text<T> x) { return line<bool>("isnan(", x.s, ")"); }
template <class T> Text<T> IfThenElse(Text<bool> is, Text<T> yes, Text<T> no) {
  return line<T>(is.s, " ? ", yes.s, " : ", no.s);
}
template <class T> Text<T> IfThenElseZero(Text<bool> is, Text<T> yes) {
  return IfThenElse(is, yes, Zero(Simd<T>()));
}
template <class T> Text<T> IfThenZeroElse(Text<bool> is, Text<T> no) {
  return IfThenElse(is, Zero(Simd<T>()), no);
}

template <class To, class From> Text<TFromD<To>> BitCast(To, Text<From> x) {
  using T = TFromD<To>;
  if constexpr (std::is_same_v<T, From>)
    return x;
  else if constexpr (std::is_same_v<From, float>)
    return line<T>(std::is_signed_v<T> ? "floatBitsToInt(" : "floatBitsToUint(", x.s, ")");
  else if constexpr (std::is_same_v<From, double>)
    return line<T>(std::is_signed_v<T> ? "doubleBitsToInt64(" : "doubleBitsToUint64(", x.s, ")");
  else if constexpr (std::is_same_v<T, float>)
    return line<T>(std::is_signed_v<From> ? "intBitsToFloat(" : "uintBitsToFloat(", x.s, ")");
  else if constexpr (std::is_same_v<T, double>)
    return line<T>(std::is_signed_v<From> ? "int64BitsToDouble(" : "uint64BitsToDouble(", x.s, ")");
  else
    return line<T>(type_name<T>(), "(", x.s, ")");
}

// An operator on the bits of numbers, or on whole numbers and truths as they are.
template <class T> Text<T> bitwise(Text<T> a, const char* op, Text<T> b) {
  if constexpr (std::is_same_v<T, bool>) {
    return line<T>(a.s,
                   std::strcmp(op, "&") == 0   ? " && "
                   : std::strcmp(op, "|") == 0 ? " || "
                                               : " != ",
                   b.s);
  } else if constexpr (std::is_floating_point_v<T>) {
    const RebindToUnsigned<Simd<T>> whole;
    return BitCast(Simd<T>(), bitwise(BitCast(whole, a), op, BitCast(whole, b)));
  } else {
    return line<T>(a.s, " ", op, " ", b.s);
  }
}
template <class T> Text<T> And(Text<T> a, Text<T> b) { return bitwise(a, "&", b); }
template <class T> Text<T> Or(Text<T> a, Text<T> b) { return bitwise(a, "|", b); }
template <class T> Text<T> Xor(Text<T> a, Text<T> b) { return bitwise(a, "^", b); }
inline Text<bool> AndNot(Text<bool> a, Text<bool> b) { return line<bool>("!", a.s, " && ", b.s); }
template <class T> Text<T> OrAnd(Text<T> y, Text<T> a, Text<T> b) { return Or(y, And(a, b)); }
template <class T> Text<T> CopySign(Text<T> x, Text<T> sign) {
  return Or(Abs(x), And(sign, SignBit(Simd<T>())));
}
template <class T> Text<bool> MaskFromVec(Text<T> x) {
  const RebindToUnsigned<Simd<T>> whole;
  return line<bool>(BitCast(whole, x).s, " != ", Zero(whole).s);
}
template <int bits, class T> Text<T> ShiftLeft(Text<T> x) {
  return line<T>(x.s, " << ", std::to_string(bits));
}
template <int bits, class T> Text<T> ShiftRight(Text<T> x) {
  return line<T>(x.s, " >> ", std::to_string(bits));
}

template <class D, class T> Vec<D> converted(Text<T> x) {
  return line<TFromD<D>>(type_name<TFromD<D>>(), "(", x.s, ")");
}
template <class D, class T> Vec<D> PromoteTo(D, Text<T> x) { return converted<D>(x); }
template <class D, class T> Vec<D> DemoteTo(D, Text<T> x) { return converted<D>(x); }
template <class D, class T> Vec<D> ConvertTo(D, Text<T> x) { return converted<D>(x); }
template <class D, class T> Text<T> LowerHalf(D, Text<T> x) { return x; }
template <class D, class T> Text<T> UpperHalf(D, Text<T> x) { return x; }
template <class D, class T> Text<T> Combine(D, Text<T>, Text<T> lower) { return lower; }

// Asked for arguments beyond the reach of a polynomial, which libm takes: text has none.
template <class D> bool AllFalse(D, Text<bool>) { return true; }

// Registers that are not of text have lanes in memory.
template <class D> constexpr std::size_t MaxLanes(D) { return 1; }
template <class D> constexpr std::size_t Lanes(D) { return 1; }
template <class D, class... More> Vec<D> Load(D, More...) { throw std::logic_error("text has no memory"); }
template <class... All> void Store(All...) { throw std::logic_error("text has no memory"); }
template <class D> Text<bool> FirstN(D, std::size_t);
template <class... All> Text<float> MaskedLoad(All...);
template <class... All> void BlendedStore(All...);
template <class T> T GetLane(Text<T>);

}  // namespace hwy::N_GLSL
