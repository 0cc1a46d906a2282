// What a backend says it has, where it lacks some of it.
#include "veldt/tensor/fallback.h"

#include <gtest/gtest.h>

#include "veldt/tensor/backends.h"

namespace veldt {
namespace {

// Its convolutions and products of integers are used all the same.
TEST(Fallback, ABackendOfIntegersMayLackTheStepsOfAnLstm) {
  const Backend& cpu = backend(Device{});
  static Backend real = cpu;
  real.device = {add_device_kind("stepless"), 0};
  real.lstm_quantized = nullptr;
  const Backend& whole = completed(real, cpu);
  ASSERT_NE(whole.multiplies_integers, nullptr);
  EXPECT_TRUE(whole.multiplies_integers());
  EXPECT_EQ(whole.steps_integers, nullptr);
  ASSERT_NE(cpu.steps_integers, nullptr);
  EXPECT_TRUE(cpu.steps_integers());
}

}  // namespace
}  // namespace veldt
