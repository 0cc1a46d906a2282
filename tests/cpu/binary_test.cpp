// Formulas of two numbers that have branches or series of their own, against libm in a wider type: the error
// in units of the last place, and every special number.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tests/support/views.h"
#include "veldt/core/rng.h"
#include "veldt/cpu/cpu_backend.h"
#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/unary-inl.h"

namespace veldt {
namespace {
using test::Array;

template <class Op, class T> std::vector<T> computed(const std::vector<T>& a, const std::vector<T>& b) {
  const auto n = static_cast<std::int64_t>(a.size());
  Array<T> left({n}, a), right({n}, b), out({n});
  cpu::backend().binary(IndexOf<Op, scalar::BinaryOps>::value, left.view(), right.view(), out.view());
  return out.values();
}

// |y - wanted| in units of the last place of wanted as a T.
template <class T> double ulps(T y, long double wanted) {
  const T near = static_cast<T>(wanted);
  if (std::isnan(near) || std::isinf(near) || near == 0)
    return (std::isnan(near) && std::isnan(y)) || (y == near && std::signbit(y) == std::signbit(near)) ? 0
                                                                                                       : 1e9;
  const T size = std::fabs(near);
  const long double unit =
      static_cast<long double>(std::nextafter(size, std::numeric_limits<T>::infinity())) -
      static_cast<long double>(size);
  return static_cast<double>(std::fabs((static_cast<long double>(y) - wanted) / unit));
}

// Numbers of all magnitudes: 2^-reach to 2^reach, both signs.
template <class T> std::vector<T> numbers(std::size_t n, int reach, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<T> out;
  for (std::size_t i = 0; i < n; ++i) {
    const double digits = 1 + static_cast<double>(rng.next_u32()) * 0x1p-32 + rng.next_u32() * 0x1p-64;
    const int exponent = static_cast<int>(rng.next_below(static_cast<std::uint64_t>(2 * reach))) - reach;
    out.push_back(static_cast<T>(std::ldexp(rng.next_u32() % 2 ? digits : -digits, exponent)));
  }
  return out;
}

using Wide = long double (*)(long double, long double);

template <class Op, class T> void expect_close(Wide wanted, double most, bool signed_base = true) {
  constexpr std::size_t kCount = 100000;
  for (const int reach : {1, 4, 20, sizeof(T) == 4 ? 120 : 1000}) {
    std::vector<T> a = numbers<T>(kCount, reach, 1), b = numbers<T>(kCount, reach, 2);
    if (!signed_base)
      for (T& x : a) x = std::fabs(x);
    const std::vector<T> y = computed<Op>(a, b);
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double off = ulps(y[i], wanted(a[i], b[i]));
      if (off > worst) worst = off, at = i;
    }
    EXPECT_LE(worst, most) << Op::name << " of " << a[at] << " and " << b[at] << " is " << y[at];
    testing::Test::RecordProperty(Op::name + std::to_string(sizeof(T)), std::to_string(worst));
  }
}

template <class Op, class T> void expect_special(T (*wanted)(T, T)) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> some = {0,
                         T(0.5),
                         1,
                         T(1.5),
                         2,
                         3,
                         4,
                         T(2.5),
                         1000,
                         1001,
                         Limits::max(),
                         Limits::min(),
                         Limits::denorm_min(),
                         Limits::infinity(),
                         Limits::quiet_NaN(),
                         1 / Limits::epsilon(),
                         1 / Limits::epsilon() - 1};
  for (std::size_t i = 0, n = some.size(); i < n; ++i) some.push_back(-some[i]);
  std::vector<T> a, b;
  for (T x : some)
    for (T y : some) a.push_back(x), b.push_back(y);
  const std::vector<T> y = computed<Op>(a, b);
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_LE(ulps<T>(y[i], wanted(a[i], b[i])), 2)
        << Op::name << " of " << a[i] << " and " << b[i] << " is " << y[i] << ", not " << wanted(a[i], b[i]);
}

TEST(Binary, PowersAreWithinHalfAUnitOfTheLastPlace) {
  const Wide wanted = [](long double a, long double b) { return std::pow(a, b); };
  expect_close<scalar::Pow, float>(wanted, 0.51, false);
  expect_close<scalar::Pow, double>(wanted, 1, false);
  expect_special<scalar::Pow, float>(std::pow);
  expect_special<scalar::Pow, double>(std::pow);
}

TEST(Binary, AnglesAndLengthsAreWithinTwoUnitsOfTheLastPlace) {
  const Wide angle = [](long double a, long double b) { return std::atan2(a, b); };
  const Wide length = [](long double a, long double b) { return std::hypot(a, b); };
  expect_close<scalar::Atan2, float>(angle, 2);
  expect_close<scalar::Atan2, double>(angle, 2);
  expect_close<scalar::Hypot, float>(length, 2);
  expect_close<scalar::Hypot, double>(length, 2);
  expect_special<scalar::Atan2, float>(std::atan2);
  expect_special<scalar::Atan2, double>(std::atan2);
  expect_special<scalar::Hypot, float>(std::hypot);
  expect_special<scalar::Hypot, double>(std::hypot);
}

TEST(Binary, WhatIsLeftOfADivisionIsExact) {
  const Wide wanted = [](long double a, long double b) { return std::fmod(a, b); };
  expect_close<scalar::Fmod, float>(wanted, 0);
  expect_close<scalar::Fmod, double>(wanted, 0);
  expect_special<scalar::Fmod, float>(std::fmod);
  expect_special<scalar::Fmod, double>(std::fmod);
  // Multiples and their neighbours, whose quotients round to the next whole number.
  std::vector<float> a, b;
  for (const float divisor : numbers<float>(20000, 4, 3))
    for (const float times : {3.0f, 1e3f, 8e6f, 1.6e7f, 3e9f})
      for (const float multiple : {divisor * times, std::nextafterf(divisor * times, 0.0f)})
        a.push_back(multiple), b.push_back(divisor);
  const std::vector<float> y = computed<scalar::Fmod>(a, b);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(y[i], std::fmod(a[i], b[i])) << a[i] << ' ' << b[i];
}

// As Python has it; floor(a / b) alone would be off by one beside multiples.
template <class T> void expect_floors() {
  const std::vector<T> a = numbers<T>(50000, 12, 5), b = numbers<T>(50000, 5, 6);
  const std::vector<T> rest = computed<scalar::Remainder>(a, b),
                       quotient = computed<scalar::FloorDivide>(a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const T m = std::fmod(a[i], b[i]), r = m != 0 && (m < 0) != (b[i] < 0) ? m + b[i] : m;
    ASSERT_EQ(rest[i], r) << a[i] << ' ' << b[i];
    const long double exact = static_cast<long double>(a[i]) / static_cast<long double>(b[i]);
    ASSERT_NEAR(static_cast<double>(quotient[i]), static_cast<double>(std::floor(exact)), 0)
        << a[i] << ' ' << b[i];
  }
}
TEST(Binary, FloorsAreThoseOfTheExactQuotient) {
  expect_floors<float>();
  expect_floors<double>();
}

TEST(Power, ByAPlainNumberIsWithinTwoUnitsOfTheLastPlace) {
  const int op = IndexOf<scalar::PowScalar, scalar::UnaryOps>::value;
  for (const double p : {0.0, 1.0, 2.0, 3.0, 0.5, -0.5, -1.0, -2.0, 1.7, 5.0, -3.0}) {
    std::vector<float> x = numbers<float>(50000, 60, 7);
    for (float special : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, 3e38f, 1e20f, 1e-20f, 1.2e-19f})
      x.push_back(special);
    const auto n = static_cast<std::int64_t>(x.size());
    Array<float> from({n}, x), to({n});
    cpu::backend().unary(op, {p, 0}, from.view(), to.view());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(ulps(to.values()[i], std::pow(static_cast<long double>(x[i]),
                                              static_cast<long double>(static_cast<float>(p)))),
                2)
          << x[i] << " to the power " << p << " is " << to.values()[i];
  }
}

}  // namespace
}  // namespace veldt
