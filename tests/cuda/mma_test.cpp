// The instructions of tensor cores (veldt/cuda/mma.h): where they have each number of their operands, told
// element by element as the PTX ISA tells it.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "tests/support/device_under_test.h"
#include "tests/support/emulated_device.h"
#include "tests/support/gpu_emulation.h"
#include "veldt/cuda/mma.h"

namespace veldt::test {
namespace {

float bf16_at(unsigned bits, int half) {
  return std::bit_cast<float>(half == 0 ? bits << 16 : bits & 0xFFFF0000u);
}

// What a warp works on, in rows.
struct Operands {
  float a[16 * 16], b[16 * 8], d[16 * 8];
  std::uint16_t rows[32 * 8], transposed[4 * 8 * 8];
};

// "a0 .. a7: row = groupID for i of 0, 1, 4, 5, else groupID + 8; column = 2 threadID_in_group + i % 2, 8
// more from a4 on. b0 .. b3: row = 2 threadID_in_group + i % 2, 8 more from b2 on; column = groupID. c0 ..
// c3: row = groupID, 8 more from c2 on; column = 2 threadID_in_group + i % 2."
void multiply_bf16(Operands* o) {
  const unsigned group = threadIdx.x >> 2, thread = threadIdx.x % 4;
  unsigned a[4] = {}, b[2] = {};
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned row = i % 4 < 2 ? group : group + 8, column = 2 * thread + (i & 1) + (i >= 4 ? 8 : 0);
    a[i / 2] |= (std::bit_cast<unsigned>(o->a[row * 16 + column]) >> 16) << 16 * (i % 2);
  }
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = 2 * thread + (i & 1) + (i >= 2 ? 8 : 0);
    b[i / 2] |= (std::bit_cast<unsigned>(o->b[row * 8 + group]) >> 16) << 16 * (i % 2);
  }
  float d[4] = {1, 1, 1, 1};
  gpu::mma_bf16(d, a, b);
  for (unsigned i = 0; i < 4; ++i) o->d[(i < 2 ? group : group + 8) * 8 + 2 * thread + (i & 1)] = d[i];
}

// "a0 .. a3: row = groupID for a0 and a2, else groupID + 8; column = threadID_in_group for a0 and a1, else 4
// more. b0, b1: row = threadID_in_group, 4 more for b1; column = groupID."
void multiply_tf32(Operands* o) {
  const unsigned group = threadIdx.x >> 2, thread = threadIdx.x % 4;
  unsigned a[4], b[2];
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = i % 2 == 0 ? group : group + 8, column = i < 2 ? thread : thread + 4;
    a[i] = gpu::to_tf32(o->a[row * 8 + column]);
  }
  for (unsigned i = 0; i < 2; ++i) b[i] = gpu::to_tf32(o->b[(thread + 4 * i) * 8 + group]);
  float d[4] = {1, 1, 1, 1};
  gpu::mma_tf32(d, a, b);
  for (unsigned i = 0; i < 4; ++i) o->d[(i < 2 ? group : group + 8) * 8 + 2 * thread + (i & 1)] = d[i];
}

// ".trans: the matrix is loaded in column-major format": thread 4 c + r / 2 has element r % 2 of column c.
void transpose(Operands* o) {
  unsigned v[4];
  gpu::load_transposed(v, o->rows + threadIdx.x * 8);
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned h = 0; h < 2; ++h)
      o->transposed[i * 64 + threadIdx.x / 4 * 8 + threadIdx.x % 4 * 2 + h] =
          static_cast<std::uint16_t>(v[i] >> 16 * h);
}

class Mma : public testing::Test {
 protected:
  void SetUp() override {
    if (on_real_gpu()) GTEST_SKIP() << "these are the emulated instructions";
  }
  Mma() {
    use_emulated_device();
    // Small whole numbers, of which every product and sum is exact.
    for (int i = 0; i < 256; ++i) operands_.a[i] = static_cast<float>(i * 37 % 101 - 50);
    for (int i = 0; i < 128; ++i) operands_.b[i] = static_cast<float>(i * 53 % 97 - 48);
    for (int i = 0; i < 256; ++i) operands_.rows[i] = static_cast<std::uint16_t>(i);
  }
  void run(void (*kernel)(Operands*)) {
    static cudaStream_t stream = [] {
      cudaStream_t s;
      cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
      return s;
    }();
    ASSERT_EQ(gpu::launch(kernel, 1, 32, 0, stream, &operands_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
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
  alignas(16) Operands operands_ = {};
};

TEST_F(Mma, MultipliesBf16) {
  run(multiply_bf16);
  expect_product(16);
}

TEST_F(Mma, MultipliesTf32) {
  run(multiply_tf32);
  expect_product(8);
}

TEST_F(Mma, LoadsMatricesTransposed) {
  run(transpose);
  for (int i = 0; i < 4; ++i)
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 8; ++c)
        EXPECT_EQ(operands_.transposed[i * 64 + c * 8 + r], operands_.rows[i * 64 + r * 8 + c]);
}

TEST_F(Mma, RoundsToTf32AwayFromZero) {
  EXPECT_EQ(gpu::to_tf32(1), 0x3F800000u);
  EXPECT_EQ(gpu::to_tf32(1 + 0x1p-11f), 0x3F802000u);
  EXPECT_EQ(gpu::to_tf32(-1 - 0x1p-11f), 0xBF802000u);
  EXPECT_EQ(gpu::to_tf32(1 + 0x1p-12f), 0x3F800000u);
  EXPECT_EQ(gpu::to_tf32(INFINITY), 0x7F800000u);
}

TEST_F(Mma, RoundsToBf16InPairs) {
  const unsigned pair = gpu::to_bf16_pair(1 + 0x1p-8f, -1 - 0x1p-7f - 0x1p-8f);
  EXPECT_EQ(bf16_at(pair, 0), 1);  // ties to even
  EXPECT_EQ(bf16_at(pair, 1), -1 - 0x1p-6f);
  EXPECT_TRUE(std::isnan(bf16_at(gpu::to_bf16_pair(NAN, 0), 0)));
}

}  // namespace
}  // namespace veldt::test
