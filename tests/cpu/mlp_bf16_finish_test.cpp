// What stands between two bf16 products, against plain loops, where the processor has such products.
#include "veldt/cpu/mlp_bf16_finish.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "veldt/cpu/mlp_bf16.h"

namespace veldt::cpu {
namespace {

constexpr int kSide = 32, kStride = 48, kNumbers = kSide * kSide;

float widened(std::uint16_t word) {
  const std::uint32_t bits = std::uint32_t{word} << 16;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// A block of numbers between -2 and 2, rows kStride apart.
std::vector<float> block() {
  std::vector<float> z(kSide * kStride, 1e9f);
  for (int r = 0; r < kSide; ++r)
    for (int c = 0; c < kSide; ++c)
      z[static_cast<std::size_t>(r * kStride + c)] = 2 * std::sin(static_cast<float>(r * 37 + c * 11));
  return z;
}

// Where row r, column c lies in pairs.
std::size_t in_pairs(int r, int c) { return static_cast<std::size_t>(r / 2 * 2 * kSide + 2 * c + r % 2); }

class Bf16FinishOfABlock : public testing::Test {
 protected:
  void SetUp() override {
    if (!bf16_kernels()) GTEST_SKIP() << "this processor has no bf16 products";
  }
  std::vector<std::uint16_t> rows_ = std::vector<std::uint16_t>(kNumbers),
                             pairs_ = std::vector<std::uint16_t>(kNumbers),
                             slope_ = std::vector<std::uint16_t>(kNumbers);
};

TEST_F(Bf16FinishOfABlock, ActivatesIntoAllOrders) {
  const std::vector<float> z = block();
  const MlpLayer layer{.in = kSide, .out = kSide, .activation = MlpActivation::sine, .omega = 3};
  bf16_finish()->activate(layer, z.data(), kStride, rows_.data(), pairs_.data(), slope_.data());
  for (int r = 0; r < kSide; ++r)
    for (int c = 0; c < kSide; ++c) {
      const float x = z[static_cast<std::size_t>(r * kStride + c)];
      const auto at = static_cast<std::size_t>(r * kSide + c);
      EXPECT_NEAR(widened(rows_[at]), std::sin(3 * x), 5e-3);
      EXPECT_NEAR(widened(slope_[at]), 3 * std::cos(3 * x), 1.5e-2);
      EXPECT_EQ(pairs_[in_pairs(r, c)], rows_[at]);
    }
}

TEST_F(Bf16FinishOfABlock, ScalesTheSameForEitherOrder) {
  for (int i = 0; i < kNumbers; ++i)
    slope_[static_cast<std::size_t>(i)] = i % 3 ? 0x3fc0 : 0xbf00;  // 1.5, -0.5
  const std::vector<float> before = block();
  std::vector<float> kept = before, scaled = before, sums(kSide, 1), sums_without(kSide, 1);
  std::vector<std::uint16_t> rows_without(kNumbers);
  bf16_finish()->scale(kept.data(), kStride, slope_.data(), sums.data(), rows_.data(), pairs_.data());
  bf16_finish()->scale(scaled.data(), kStride, slope_.data(), sums_without.data(), rows_without.data(),
                       nullptr);
  EXPECT_EQ(rows_, rows_without);
  EXPECT_EQ(sums, sums_without);
  for (int c = 0; c < kSide; ++c) {
    double sum = 1;
    for (int r = 0; r < kSide; ++r) {
      const auto at = static_cast<std::size_t>(r * kSide + c), in = static_cast<std::size_t>(r * kStride + c);
      const float x = before[in] * widened(slope_[at]);
      EXPECT_EQ(scaled[in], x);
      EXPECT_NEAR(widened(rows_[at]), x, 0.01);
      EXPECT_EQ(pairs_[in_pairs(r, c)], rows_[at]);
      sum += x;
    }
    EXPECT_NEAR(sums[static_cast<std::size_t>(c)], sum, 1e-4);
  }
  EXPECT_EQ(scaled[kSide], 1e9f);  // nothing beyond the block is written
}

}  // namespace
}  // namespace veldt::cpu
