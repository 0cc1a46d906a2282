// Random numbers and ramps on the emulated device against the CPU's.
#include <gtest/gtest.h>

#include "tests/cuda/twins.h"
#include "tests/support/emulated_device.h"
#include "veldt/core/error.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {
namespace {

Twins drawn(RandomKind kind, DType dtype, std::int64_t n, std::uint64_t position) {
  return run_on_both(
      {{dtype, {n}, Layout::contiguous, some_bits(dtype, 1)}},
      [&](const Backend& b, auto views) { b.random(kind, 0x123456789abcdef0u, 77, position, views[0]); });
}

// The last two pass the ends of 32 and of 34 bits, where the counter's words change.
constexpr std::uint64_t kPositions[] = {0, 1, 2, 3, 4, 4093, 0xffffffffu, 0x3fffffffdu};

TEST(CudaRandom, DrawsTheNumbersOfTheCpu) {
  for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 30, 5001})
    for (const std::uint64_t position : kPositions) {
      const std::string where = str(n, " from ", position);
      ASSERT_EQ(difference(drawn(RandomKind::word, DType::i64, n, position)), "") << where;
      ASSERT_EQ(difference(drawn(RandomKind::uniform, DType::f32, n, position)), "") << where;
      ASSERT_EQ(difference(drawn(RandomKind::uniform, DType::f64, n, position)), "") << where;
      ASSERT_EQ(difference(drawn(RandomKind::normal, DType::f32, n, position), 2), "") << where;
      ASSERT_EQ(difference(drawn(RandomKind::normal, DType::f64, n, position), 4), "") << where;
    }
}

TEST(CudaRandom, PermutesAsTheCpu) {
  for (const std::int64_t n : {0, 1, 2, 3, 1023, 1024, 5001, 70001})
    for (const std::uint64_t position : kPositions)
      ASSERT_EQ(difference(drawn(RandomKind::permutation, DType::i64, n, position)), "")
          << n << " from " << position;
}

TEST(CudaRandom, RefusesHalves) {
  use_emulated_device();
  const View v{nullptr, DType::bf16, {0}, {1}};
  EXPECT_THROW(backend(kEmulated).random(RandomKind::uniform, 1, 0, 0, v), DeviceError);
}

TEST(CudaRamp, HasTheBitsOfTheCpu) {
  const Ramp ramps[] = {{-1, 2, 99, 0, 1}, {0.3, 1e6, 7, -5, 3}, {0, 1, 1, INT64_MAX, 2}};
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32,
                            DType::u8, DType::i8, DType::boolean})
    for (const std::int64_t n : {0, 1, 2, 100, 5000})
      for (const Layout layout : {Layout::contiguous, Layout::offset, Layout::stepped})
        for (const Ramp& ramp : ramps) {
          const Twins twins = run_on_both({{dtype, {n}, layout, some_bits(dtype, 1)}},
                                          [&](const Backend& b, auto views) { b.ramp(ramp, views[0]); });
          ASSERT_EQ(difference(twins), "") << dtype << ", " << n << ", " << name_of(layout);
        }
}

}  // namespace
}  // namespace veldt::test
