// One call on the cpu and on the emulated device, and whether they agree.
#pragma once

#include <algorithm>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/support/allclose.h"
#include "tests/support/device_under_test.h"
#include "tests/support/emulated_device.h"
#include "tests/support/gpu_emulation.h"
#include "tests/support/layouts.h"
#include "tests/support/values.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {

// The same numbers in the same layout.
struct Both {
  Tensor here, there;
  explicit Both(Tensor t) : here(std::move(t)), there(onto_device(here)) {}
  Both(const Values& values, DType dtype, Layout layout = Layout::contiguous)
      : Both(lay_out(values, dtype, layout)) {}
};

// A result that nothing has been written to.
inline Both unwritten(const Shape& shape, DType dtype, Layout layout = Layout::contiguous) {
  return {build(shape, [](const Shape&) { return 77; }), dtype, layout};
}

// Numbers of a dtype: whole ones of both signs where it has them, halves of whole ones where it has those.
inline Values numbers(const Shape& shape, DType dtype, std::uint64_t seed) {
  Rng rng(seed);
  Values v = uniform(shape, rng,
                     dtype == DType::u8        ? 0
                     : dtype == DType::boolean ? 0
                                               : -40,
                     dtype == DType::boolean ? 2 : 40);
  for (double& x : v.v) x = is_float(dtype) ? x / 16 : std::floor(x);
  return v;
}

// Whole numbers are equal; floats differ by at most ulps * epsilon * max(|value|, magnitude), halves by one
// rounding: they are computed as f32.
inline void expect_same(const Both& results, double ulps, double magnitude = 0) {
  const Tensor got = from_device(results.there);
  ASSERT_EQ(gpu::emulation::take_fault(), "");
  note_result(got);
  const Values expected = read(results.here);
  const double allowed = is_half(got.dtype()) ? std::min(ulps, 1.0) : is_float(got.dtype()) ? ulps : 0;
  const Comparison c = compare(got, expected, allowed, std::vector<double>(expected.v.size(), magnitude));
  EXPECT_TRUE(c.ok) << c.message;
}

constexpr gpu::emulation::Order kOrders[] = {gpu::emulation::Order::forward, gpu::emulation::Order::reverse,
                                             gpu::emulation::Order::shuffled};

// While one lives, blocks, and the threads of each, run in that order.
class InOrder {
 public:
  explicit InOrder(gpu::emulation::Order order) : before_(gpu::emulation::order()) {
    gpu::emulation::set_order(order);
  }
  ~InOrder() {
    backend(kEmulated).synchronize();
    gpu::emulation::set_order(before_);
  }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;

 private:
  gpu::emulation::Order before_;
};

}  // namespace veldt::test
