// Parameters side by side: places, gradients that arrive elsewhere, and no memory in a steady step.
#include "veldt/optim/slab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/optim/leaf.h"
#include "tests/support/error_of.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/sgd.h"
#include "veldt/tensor/backends.h"

namespace veldt::optim {
namespace {

using test::leaf;
using test::values;
using testing::HasSubstr;

TEST(Slab, KeepsParametersSideBySideOn64Bytes) {
  const Tensor a = leaf({3}, 1), b = leaf({2, 9}, 2), c = leaf({}, 3);
  const SGD sgd({a, b, c});
  EXPECT_EQ(sgd.slab().values().shape(), (Shape{16 + 32 + 16}));
  EXPECT_EQ(b.data<float>(), a.data<float>() + 16);
  EXPECT_EQ(c.data<float>(), a.data<float>() + 48);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data<float>()) % 64, 0u);
  EXPECT_EQ(sum(sgd.slab().values()).item(), 3 + 36 + 3);  // zeros between
  EXPECT_EQ(b.shape(), (Shape{2, 9}));
}

TEST(Slab, KeepsAParameterThatIsListedTwiceOnce) {
  const Tensor a = leaf({3});
  SGD sgd({a, a}, {.lr = 1});
  sum(a).backward();
  sgd.step();
  EXPECT_EQ(sgd.parameters().size(), 1u);
  EXPECT_EQ(values(a), (std::vector<float>{0, 0, 0}));
}

TEST(Slab, NoticesAParameterThatMovedAway) {
  Tensor a = leaf({3});
  SGD sgd({a});
  const SGD second({a});
  EXPECT_THAT(test::error_of([&] { sgd.step(); }), HasSubstr("parameter 0 was moved"));
}

TEST(Slab, BringsInAGradientThatLiesInItsPlaceTransposed) {
  Tensor a = leaf({2, 2});
  SGD sgd({a}, {.lr = 1});
  a.set_grad(Tensor::of({2, 2}, {1, 2, 3, 4}));
  sgd.gradient_norm();  // brings it into the slab
  keep_grad_in(a, transpose(a.grad()));
  sgd.step();
  EXPECT_EQ(values(a), (std::vector<float>{0, -2, -1, -3}));
}

TEST(Slab, StepMakesAnOldGraphUnusable) {
  const Tensor a = leaf({3});
  SGD sgd({a});
  const Tensor loss = sum(square(a));
  loss.backward();
  sgd.step();
  EXPECT_THAT(test::error_of([&] { loss.backward(); }), HasSubstr("changed in place"));
}

TEST(Slab, TakesNoMemoryInASteadyStep) {
  const Tensor a = leaf({100, 10}), x = ones({100, 10});
  Adam adam({a});
  const auto step = [&] {
    adam.zero_grad();
    sum(square(a * x)).backward();
    adam.clip_gradients(1);
    adam.step();
  };
  for (int i = 0; i < 3; ++i) step();
  const PoolStats before = pool(Device{}).stats();
  for (int i = 0; i < 1000; ++i) step();
  EXPECT_EQ(pool(Device{}).stats().system_allocations, before.system_allocations);
  EXPECT_EQ(pool(Device{}).stats().bytes_in_use, before.bytes_in_use);
}

}  // namespace
}  // namespace veldt::optim
