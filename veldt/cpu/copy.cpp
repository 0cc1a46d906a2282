// Fill and copy: every dtype to every dtype, any strides.
#include <bit>
#include <cmath>
#include <cstring>

#include "veldt/core/error.h"
#include "veldt/cpu/elementwise.h"
#include "veldt/cpu/kernels.h"

namespace veldt::cpu {
namespace {

struct BFloat16 {
  std::uint16_t bits;
};

// Each stored type as a number to compute with, and back (round to nearest even).
template <class T> T load(T x) { return x; }
float load(BFloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }
float load(_Float16 x) { return static_cast<float>(x); }

template <class To, class From> To store(From x) {
  if constexpr (std::is_same_v<To, BFloat16>) {
    const auto u = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    if ((u & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>(u >> 16 | 0x40u)};  // a quiet NaN
    return {static_cast<std::uint16_t>((u + 0x7fffu + (u >> 16 & 1u)) >> 16)};
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // What does not fit is clamped to the range, and NaN becomes 0: a plain cast would be undefined.
    if (!(x == x)) return 0;
    constexpr double low = static_cast<double>(std::numeric_limits<To>::min());
    constexpr double high = static_cast<double>(std::numeric_limits<To>::max());
    const double wide = static_cast<double>(x);
    if (wide <= low) return std::numeric_limits<To>::min();
    if (wide >= high) return std::numeric_limits<To>::max();
    return static_cast<To>(wide);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To> void convert_row(char* const* at, std::int64_t n) {
  const From* from = reinterpret_cast<const From*>(at[0]);
  To* to = reinterpret_cast<To*>(at[1]);
  for (std::int64_t i = 0; i < n; ++i) to[i] = store<To>(load(from[i]));
}

template <class Fn> void with_type(DType t, Fn fn) {
  switch (t) {
    case DType::f32: return fn(float());
    case DType::f64: return fn(double());
    case DType::bf16: return fn(BFloat16());
    case DType::f16: return fn(_Float16());
    case DType::i64: return fn(std::int64_t());
    case DType::u8: return fn(std::uint8_t());
    case DType::boolean: return fn(bool());
  }
}

template <class T> void fill_with(const View& out, double value) {
  const T v = store<T>(value);
  const View* views[] = {&out};
  for_each_row(views, 1,
               [v](char* const* at, std::int64_t n) { std::fill_n(reinterpret_cast<T*>(at[0]), n, v); });
}

}  // namespace

void fill(const View& out, double value, Stream) {
  with_type(out.dtype, [&](auto type) { fill_with<decltype(type)>(out, value); });
}

void copy(const View& from, const View& to, Stream) {
  const View* views[] = {&from, &to};
  if (from.dtype == to.dtype) {
    const auto bytes = static_cast<std::int64_t>(size_of(to.dtype));
    return for_each_row(views, 2, [bytes](char* const* at, std::int64_t n) {
      std::memmove(at[1], at[0], static_cast<std::size_t>(n * bytes));
    });
  }
  with_type(from.dtype, [&](auto source) {
    with_type(to.dtype,
              [&](auto target) { for_each_row(views, 2, convert_row<decltype(source), decltype(target)>); });
  });
}

}  // namespace veldt::cpu
