// The CPU draws exactly what Rng says, from any position and on any number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "tests/support/views.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"
#include "veldt/kernels/draws.h"

namespace veldt {
namespace {
using test::Array;

template <class T> std::vector<T> drawn(RandomKind kind, std::uint64_t position, std::int64_t n) {
  Array<T> out({n}, T(-9));
  cpu::backend().random(kind, 0x123456789abcdefULL, 42, position, out.view());
  return out.values();
}

TEST(Random, UniformDrawsAreThoseOfRngFromAnyPosition) {
  const Rng rng(0x123456789abcdefULL, 42);
  for (std::uint64_t position : {0ULL, 1ULL, 2ULL, 3ULL, 4ULL, 0x3fffffffeULL})
    for (std::int64_t n : {0, 1, 2, 5, 11, 20000}) {
      const std::vector<float> f = drawn<float>(RandomKind::uniform, position, n);
      const std::vector<double> d = drawn<double>(RandomKind::uniform, position, n);
      for (std::int64_t i = 0; i < n; ++i) {
        const float wanted = Rng::to_unit(rng.at(position + static_cast<std::uint64_t>(i)));
        ASSERT_EQ(f[static_cast<std::size_t>(i)], wanted);
        const std::uint64_t pair = position + 2 * static_cast<std::uint64_t>(i);
        const double high = rng.at(pair) >> 5, low = rng.at(pair + 1) >> 6;
        ASSERT_EQ(d[static_cast<std::size_t>(i)], (high * 0x1p26 + low) * 0x1p-53);
      }
    }
}

TEST(Random, NormalDrawsAreBoxAndMullersFromTwoOfRngs) {
  const Rng rng(0x123456789abcdefULL, 42);
  for (std::uint64_t position : {0ULL, 1ULL, 6ULL}) {
    const std::vector<float> f = drawn<float>(RandomKind::normal, position, 9000);
    const std::vector<double> d = drawn<double>(RandomKind::normal, position, 9000);
    for (std::uint64_t i = 0; i < 9000; ++i) {
      const double u1 = static_cast<double>(Rng::to_unit(rng.at(position + 2 * i)));
      const double u2 = static_cast<double>(Rng::to_unit(rng.at(position + 2 * i + 1)));
      const double radius = std::sqrt(-2 * std::log(1 - u1));
      ASSERT_NEAR(d[i], radius * std::cos(2 * std::numbers::pi * u2), 1e-15 * std::max(1.0, radius));
      ASSERT_EQ(f[i], static_cast<float>(d[i]));
    }
  }
}

TEST(Random, NormalDrawsHaveAllTheirDigits) {
  for (std::uint32_t k = 0; k < 1u << 24; k += 997) {
    const long double u = k * 0x1p-24L, pi = std::numbers::pi_v<long double>;
    const double log = scalar::minus_two_log(k << 8), cosine = scalar::cosine_of_turn(k << 8);
    const auto exact_log = static_cast<double>(-2 * std::log1p(-u));
    // From the nearest quarter of a turn, where the cosine of a rounded angle would lose its digits.
    const auto exact_cosine = static_cast<double>(std::sin(2 * pi * (std::fabs(u - 0.5L) - 0.25L)));
    ASSERT_NEAR(log, exact_log, 8e-16 * std::fabs(exact_log)) << k;
    ASSERT_NEAR(cosine, exact_cosine, 8e-16 * std::fabs(exact_cosine)) << k;
  }
}

TEST(Random, UniformDoublesAreFinerThanFloats) {
  const std::vector<double> d = drawn<double>(RandomKind::uniform, 0, 100000);
  EXPECT_EQ(std::set<double>(d.begin(), d.end()).size(), d.size());
}

TEST(Random, UniformDrawsFillTheUnitIntervalEvenly) {
  std::vector<int> bins(10);
  for (float u : drawn<float>(RandomKind::uniform, 0, 100000)) {
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    ++bins[static_cast<std::size_t>(u * 10)];
  }
  for (int count : bins) EXPECT_NEAR(count, 10000, 400);
}

TEST(Random, NormalDrawsHaveTheMomentsOfANormal) {
  double moments[5] = {};
  for (double z : drawn<double>(RandomKind::normal, 0, 200000))
    for (int k = 1; k <= 4; ++k) moments[k] += std::pow(z, k) / 200000;
  EXPECT_NEAR(moments[1], 0, 0.01);
  EXPECT_NEAR(moments[2], 1, 0.02);
  EXPECT_NEAR(moments[3], 0, 0.04);
  EXPECT_NEAR(moments[4], 3, 0.1);
}

TEST(Random, ThreadsDoNotChangeTheDraws) {
  const test::ThreadsScope scope(1);
  const std::vector<float> one = drawn<float>(RandomKind::normal, 3, 50000);
  set_num_threads(3);
  EXPECT_EQ(drawn<float>(RandomKind::normal, 3, 50000), one);
}

TEST(Random, RefusesIntegers) {
  Array<std::int64_t> out({4});
  EXPECT_THROW(cpu::backend().random(RandomKind::uniform, 1, 0, 0, out.view()), DeviceError);
}

}  // namespace
}  // namespace veldt
