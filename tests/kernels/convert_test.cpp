// Half floats to floats and back: all 65,536 of them, and what lies between two.
#include "veldt/kernels/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "veldt/core/rng.h"

namespace veldt::scalar {
namespace {

TEST(Float16, HasTheValuesOfIeee754) {
  const auto value = [](std::uint16_t bits) { return load(Float16{bits}); };
  EXPECT_EQ(value(0x3c00), 1);
  EXPECT_EQ(value(0xc000), -2);
  EXPECT_EQ(value(0x7bff), 65504);
  EXPECT_EQ(value(0x0001), 0x1p-24f);
  EXPECT_EQ(value(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(value(0x7e00)));
  EXPECT_TRUE(std::signbit(value(0x8000)));
}

TEST(Float16, RoundsToNearestEvenAndOverflowsToInfinity) {
  EXPECT_EQ(half_of(1 + 0x1p-11f).bits, 0x3c00);  // half way: the even one
  EXPECT_EQ(half_of(1 + 3 * 0x1p-11f).bits, 0x3c02);
  EXPECT_EQ(half_of(65519.996f).bits, 0x7bff);
  EXPECT_EQ(half_of(65520).bits, 0x7c00);
  EXPECT_EQ(half_of(-1e30f).bits, 0xfc00);
  EXPECT_EQ(half_of(0x1p-25f).bits, 0);
  EXPECT_EQ(half_of(0x1.8p-25f).bits, 1);
  EXPECT_EQ(half_of(-0.0f).bits, 0x8000);
}

TEST(Float16, EveryOneReturnsToItself) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Float16 half{static_cast<std::uint16_t>(bits)};
    const std::uint16_t back = half_of(load(half)).bits;
    if ((bits & 0x7fff) > 0x7c00)
      ASSERT_EQ(back, bits | 0x200) << "a quiet NaN";
    else
      ASSERT_EQ(back, bits);
  }
}

#if defined(__ARM_FP16_FORMAT_IEEE)
using CompilersHalf = __fp16;  // on ARM C++ has no _Float16 before g++ 13
#define VELDT_COMPILER_HAS_HALVES
#elif defined(__FLT16_MAX__)
using CompilersHalf = _Float16;
#define VELDT_COMPILER_HAS_HALVES
#endif

#ifdef VELDT_COMPILER_HAS_HALVES
TEST(Float16, AgreesWithTheOneOfTheCompiler) {
  Rng rng(3);
  const auto agree = [](std::uint32_t bits) {
    const float x = std::bit_cast<float>(bits);
    const auto own = half_of(x).bits, compilers = std::bit_cast<std::uint16_t>(static_cast<CompilersHalf>(x));
    if (std::isnan(x)) return (own & 0x7e00) == 0x7e00 && (own ^ compilers) >> 15 == 0;
    return own == compilers && load(Float16{own}) == static_cast<float>(static_cast<CompilersHalf>(x));
  };
  for (int i = 0; i < 2'000'000; ++i) {
    const std::uint32_t bits = rng.next_u32();
    ASSERT_TRUE(agree(bits)) << std::bit_cast<float>(bits);
    // And where halves are dense: exponents from 2^-26 to 2^17.
    const std::uint32_t near = (bits & 0x807fffffu) | (101 + bits / 7 % 44) << 23;
    ASSERT_TRUE(agree(near)) << std::bit_cast<float>(near);
  }
}
#endif

}  // namespace
}  // namespace veldt::scalar
