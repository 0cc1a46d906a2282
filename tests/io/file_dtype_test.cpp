// Numbers of files in types that tensors do not have: their values, bounds and byte order.
#include "veldt/io/file_dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace veldt::io {
namespace {

template <class T> Tensor converted_from(FileDType type, const std::vector<T>& values) {
  const Tensor to = empty({static_cast<std::int64_t>(values.size())}, dtype_of(type));
  EXPECT_EQ(convert(type, std::as_bytes(std::span(values)), to), "");
  return to;
}

TEST(FileDType, IntegersKeepTheirValues) {
  EXPECT_EQ(converted_from<std::int8_t>(FileDType::int8, {-128, 0, 127}).values<std::int8_t>(),
            (std::vector<std::int8_t>{-128, 0, 127}));
  EXPECT_EQ(converted_from<std::int16_t>(FileDType::int16, {-32768, 32767}).values<std::int64_t>(),
            (std::vector<std::int64_t>{-32768, 32767}));
  EXPECT_EQ(converted_from<std::uint16_t>(FileDType::uint16, {0, 65535}).values<std::int64_t>(),
            (std::vector<std::int64_t>{0, 65535}));
  EXPECT_EQ(converted_from<std::uint32_t>(FileDType::uint32, {0, 4294967295u}).values<std::int64_t>(),
            (std::vector<std::int64_t>{0, 4294967295}));
  EXPECT_EQ(converted_from<std::uint64_t>(FileDType::uint64, {0, INT64_MAX}).values<std::int64_t>(),
            (std::vector<std::int64_t>{0, INT64_MAX}));
}

TEST(FileDType, AnIntegerBeyondI64IsRefused) {
  const std::vector<std::uint64_t> values = {1, std::uint64_t{1} << 63};
  const Tensor to = empty({2}, DType::i64);
  EXPECT_NE(convert(FileDType::uint64, std::as_bytes(std::span(values)), to).find("2^63 - 1"),
            std::string::npos);
}

// Micikevicius et al. 2022, table 1: e4m3 ends at 448 with one NaN a sign, e5m2 at 57344 with infinities.
TEST(FileDType, EightBitFloatsHaveTheValuesOfTheirPaper) {
  const auto e4m3 = converted_from<std::uint8_t>(FileDType::float8_e4m3fn,
                                                 {0x00, 0x01, 0x07, 0x08, 0x38, 0x7e, 0x7f, 0x80, 0xfe, 0xff})
                        .values<float>();
  EXPECT_EQ(e4m3[1], std::ldexp(1.f, -9));
  EXPECT_EQ(e4m3[2], std::ldexp(7.f, -9));
  EXPECT_EQ(e4m3[3], std::ldexp(1.f, -6));
  EXPECT_EQ(e4m3[4], 1);
  EXPECT_EQ(e4m3[5], 448);
  EXPECT_TRUE(std::isnan(e4m3[6]));
  EXPECT_TRUE(e4m3[7] == 0 && std::signbit(e4m3[7]));
  EXPECT_EQ(e4m3[8], -448);
  EXPECT_TRUE(std::isnan(e4m3[9]));
  const auto e5m2 =
      converted_from<std::uint8_t>(FileDType::float8_e5m2, {0x01, 0x04, 0x3c, 0x7b, 0x7c, 0x7d, 0xfc})
          .values<float>();
  EXPECT_EQ(e5m2[0], std::ldexp(1.f, -16));
  EXPECT_EQ(e5m2[1], std::ldexp(1.f, -14));
  EXPECT_EQ(e5m2[2], 1);
  EXPECT_EQ(e5m2[3], 57344);
  EXPECT_EQ(e5m2[4], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(e5m2[5]));
  EXPECT_EQ(e5m2[6], -std::numeric_limits<float>::infinity());
}

TEST(FileDType, BytesAreTurnedAroundNumberByNumber) {
  std::vector<std::uint32_t> values = {0x01020304, 0xa0b0c0d0};
  swap_bytes(std::as_writable_bytes(std::span(values)), 4);
  EXPECT_EQ(values, (std::vector<std::uint32_t>{0x04030201, 0xd0c0b0a0}));
}

}  // namespace
}  // namespace veldt::io
