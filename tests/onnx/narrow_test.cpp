// Numbers of 2 to 8 bits: every one of them, and what rounds to them.
#include "veldt/onnx/narrow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "veldt/ops/shape.h"

namespace veldt::onnx {
namespace {

constexpr ElementType kFloats[] = {ElementType::float8e4m3fn, ElementType::float8e4m3fnuz,
                                   ElementType::float8e5m2, ElementType::float8e5m2fnuz,
                                   ElementType::float4e2m1};

std::vector<float> all_of(ElementType type) {
  std::string bytes;
  if (bits_of(type) == 4)
    for (int i = 0; i < 16; i += 2) bytes += static_cast<char>(i | ((i + 1) << 4));
  else
    for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const std::int64_t count = bits_of(type) == 4 ? 16 : 256;
  return from_packed({count}, type, bytes).tensor().values<float>();
}

TEST(OnnxNarrow, FloatsOfAFewBitsRoundToThemselves) {
  for (const ElementType type : kFloats) {
    for (const float v : all_of(type)) {
      if (std::isnan(v)) continue;
      const float again = rounded_to(type, v, !std::isinf(v));
      EXPECT_EQ(again, v) << name_of(type);
      EXPECT_EQ(std::signbit(again), std::signbit(v)) << name_of(type) << ' ' << v;
    }
  }
}

// Between two neighbours the one nearer wins, and of the middle the one whose last bit is 0.
TEST(OnnxNarrow, RoundsToTheNearest) {
  for (const ElementType type : kFloats) {
    const std::vector<float> all = all_of(type);
    const std::size_t half = all.size() / 2;  // the positive ones, ascending
    for (std::size_t i = 0; i + 1 < half; ++i) {
      const float a = all[i], b = all[i + 1];
      if (!std::isfinite(a) || !std::isfinite(b)) continue;
      const float middle = a + (b - a) / 2;
      EXPECT_EQ(rounded_to(type, std::nextafter(middle, a), true), a) << name_of(type);
      EXPECT_EQ(rounded_to(type, std::nextafter(middle, b), true), b) << name_of(type);
      EXPECT_EQ(rounded_to(type, middle, true), i % 2 == 0 ? a : b) << name_of(type) << ' ' << middle;
      EXPECT_EQ(rounded_to(type, -std::nextafter(middle, b), true), -b) << name_of(type);
    }
  }
}

TEST(OnnxNarrow, TheLargestAndWhatIsBeyond) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded_to(ElementType::float8e4m3fn, 1e9F, true), 448);
  EXPECT_TRUE(std::isnan(rounded_to(ElementType::float8e4m3fn, 1e9F, false)));
  EXPECT_EQ(rounded_to(ElementType::float8e5m2, -1e9F, true), -57344);
  EXPECT_EQ(rounded_to(ElementType::float8e5m2, -1e9F, false), -kInfinite);
  EXPECT_TRUE(std::isnan(rounded_to(ElementType::float8e5m2fnuz, kInfinite, false)));
  EXPECT_EQ(rounded_to(ElementType::float8e4m3fnuz, kInfinite, true), 240);
  EXPECT_EQ(rounded_to(ElementType::float4e2m1, kInfinite, false), 6);
}

TEST(OnnxNarrow, PowersOfTwo) {
  const auto power = [](float x, Rounding how) { return rounded_to(ElementType::float8e8m0, x, true, how); };
  EXPECT_EQ(power(1.1F, Rounding::up), 2);
  EXPECT_EQ(power(1.9F, Rounding::down), 1);
  EXPECT_EQ(power(1.5F, Rounding::nearest), 2);
  EXPECT_EQ(power(1.4F, Rounding::nearest), 1);
  EXPECT_EQ(power(4, Rounding::up), 4);
}

TEST(OnnxNarrow, WholeNumbersLieFromTheLowBitsOn) {
  const auto numbers = [](ElementType type, const std::string& bytes, std::int64_t count) {
    return to(from_packed({count}, type, bytes).tensor(), DType::i64).values<std::int64_t>();
  };
  EXPECT_EQ(numbers(ElementType::uint4, "\x21\x0f", 3), (std::vector<std::int64_t>{1, 2, 15}));
  EXPECT_EQ(numbers(ElementType::int4, "\x2f\x08", 3), (std::vector<std::int64_t>{-1, 2, -8}));
  EXPECT_EQ(numbers(ElementType::uint2, "\xe4", 4), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(numbers(ElementType::int2, "\xe4", 4), (std::vector<std::int64_t>{0, 1, -2, -1}));
  EXPECT_EQ(numbers(ElementType::int8, "\xff\x7f", 2), (std::vector<std::int64_t>{-1, 127}));
  EXPECT_EQ(numbers(ElementType::uint16, std::string("\xff\xff\x00\x01", 4), 2),
            (std::vector<std::int64_t>{65535, 256}));
  EXPECT_EQ(numbers(ElementType::boolean, std::string("\x02\x00", 2), 2), (std::vector<std::int64_t>{1, 0}));
}

}  // namespace
}  // namespace veldt::onnx
