// The instructions of tensor cores (veldt/cuda/mma.h): where they have each number of their operands, and how
// they round. On a real device this is the first test, since all fused stacks of layers stand on it.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "tests/support/device_under_test.h"
#include "tests/support/emulated_device.h"
#include "tests/support/gpu_emulation.h"
#include "tests/support/mma_kernels.h"
#include "veldt/core/rng.h"

namespace veldt::test {
namespace {

class Mma : public testing::Test {
 protected:
  Mma() {
    use_emulated_device();
    // Small whole numbers, of which every product and sum is exact.
    for (int i = 0; i < 256; ++i) operands_.a[i] = static_cast<float>(i * 37 % 101 - 50);
    for (int i = 0; i < 128; ++i) operands_.b[i] = static_cast<float>(i * 53 % 97 - 48);
    for (int i = 0; i < 256; ++i) operands_.rows[i] = static_cast<std::uint16_t>(i);
  }
  void run(MmaKernel kernel) {
    static RunMma* const run =
        on_real_gpu() ? reinterpret_cast<RunMma*>(symbol_on_gpu("libmma_on_gpu.so", "veldt_run_mma"))
                      : veldt_run_mma;
    ASSERT_NE(run, nullptr);
    const char* const error = run(kernel, &operands_);
    ASSERT_EQ(error, nullptr) << error;
    ASSERT_EQ(gpu::emulation::take_fault(), "");
  }
  void expect_product(int depth) const {
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 8; ++c) {
        float sum = 1;
        for (int k = 0; k < depth; ++k) sum += operands_.a[r * depth + k] * operands_.b[k * 8 + c];
        EXPECT_EQ(operands_.d[r * 8 + c], sum) << r << ", " << c;
      }
  }
  MmaOperands operands_ = {};
};

TEST_F(Mma, MultipliesBf16) {
  run(MmaKernel::multiply_bf16);
  expect_product(16);
}

TEST_F(Mma, MultipliesTf32) {
  run(MmaKernel::multiply_tf32);
  expect_product(8);
}

// To 2^-20 of the sum of its terms' sizes: two numbers of 10 and of 11 bits stand for each of 24.
TEST_F(Mma, MultipliesF32InParts) {
  Rng rng(11);
  for (int round = 0; round < 50; ++round) {
    const auto draw = [&] {
      const auto digits = static_cast<float>(rng.next_u32() >> 8) * 0x1p-24f + 1;
      return std::ldexp(rng.next_u32() % 2 == 0 ? digits : -digits, static_cast<int>(rng.next_u32() % 9) - 4);
    };
    for (int i = 0; i < 128; ++i) operands_.a[i] = draw(), operands_.b[i % 64] = draw(), operands_.d[i] = 0;
    run(MmaKernel::multiply_f32);
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 8; ++c) {
        double sum = 0, size = 0;
        for (int k = 0; k < 8; ++k) {
          const double term =
              static_cast<double>(operands_.a[r * 8 + k]) * static_cast<double>(operands_.b[k * 8 + c]);
          sum += term, size += std::abs(term);
        }
        EXPECT_NEAR(static_cast<double>(operands_.d[r * 8 + c]), sum, size * 0x1p-20) << r << ", " << c;
      }
  }
}

TEST_F(Mma, LoadsMatricesByRows) {
  run(MmaKernel::load);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(operands_.loaded[i], operands_.rows[i]) << i;
}

TEST_F(Mma, LoadsMatricesTransposed) {
  run(MmaKernel::transpose);
  for (int i = 0; i < 4; ++i)
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 8; ++c)
        EXPECT_EQ(operands_.transposed[i * 64 + c * 8 + r], operands_.rows[i * 64 + r * 8 + c]);
}

TEST_F(Mma, RoundsToTf32AwayFromZero) {
  const float numbers[] = {1, 1 + 0x1p-11f, -1 - 0x1p-11f, 1 + 0x1p-12f, INFINITY};
  std::copy(std::begin(numbers), std::end(numbers), operands_.numbers);
  run(MmaKernel::round);
  const std::uint32_t rounded[] = {0x3F800000u, 0x3F802000u, 0xBF802000u, 0x3F800000u, 0x7F800000u};
  for (std::size_t i = 0; i < std::size(rounded); ++i) EXPECT_EQ(operands_.tf32[i], rounded[i]) << numbers[i];
}

TEST_F(Mma, RoundsToBf16InPairs) {
  const float numbers[] = {1 + 0x1p-8f, 1 + 0x1p-7f + 0x1p-8f, NAN};
  std::copy(std::begin(numbers), std::end(numbers), operands_.numbers);
  run(MmaKernel::round);
  const auto low = [&](int i) { return std::bit_cast<float>(operands_.bf16_pairs[i] << 16); };
  const auto high = [&](int i) { return std::bit_cast<float>(operands_.bf16_pairs[i] & 0xFFFF0000u); };
  EXPECT_EQ(low(0), 1);  // ties to even
  EXPECT_EQ(high(0), -1);
  EXPECT_EQ(low(1), 1 + 0x1p-6f);
  EXPECT_EQ(high(1), -1 - 0x1p-6f);
  EXPECT_TRUE(std::isnan(low(2)));
}

// Beside the tensor cores' instructions: what a coarse stack of layers takes for its tanh.
TEST_F(Mma, HasATanhTo11Bits) {
  for (int i = 0; i < 30; ++i)
    operands_.numbers[i] = (i % 2 == 0 ? 1.0f : -1.0f) * std::ldexp(1.3f, i / 2 - 10);
  operands_.numbers[30] = -INFINITY;
  operands_.numbers[31] = NAN;
  run(MmaKernel::round);
  for (int i = 0; i < 31; ++i) {
    const double wanted = std::tanh(static_cast<double>(operands_.numbers[i]));
    EXPECT_NEAR(static_cast<double>(operands_.tanh[i]), wanted, std::abs(wanted) * 0x1.01p-11) << i;
    EXPECT_LE(std::abs(operands_.tanh[i]), 1) << i;
  }
  EXPECT_TRUE(std::isnan(operands_.tanh[31]));
}

}  // namespace
}  // namespace veldt::test
