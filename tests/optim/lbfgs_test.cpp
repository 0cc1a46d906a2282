// L-BFGS finds the floor of a narrow valley, resumes with the same bits, and says when it cannot go on.
#include "veldt/optim/lbfgs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/optim/leaf.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::optim {
namespace {

using test::leaf;
using test::values;
using testing::HasSubstr;

// Rosenbrock 1960: a curved valley with its floor at (1, 1).
TEST(LBFGS, FindsTheFloorOfRosenbrocksValley) {
  const Tensor at = Tensor::of({2}, {-1.2, 1}, DType::f64).set_requires_grad();
  LBFGS lbfgs({at}, {.max_iterations = 100});
  int calls = 0;
  lbfgs.step([&] {
    ++calls;
    const Tensor x = slice(at, 0, 0, 1), y = slice(at, 0, 1, 2);
    return sum(square(1.0 - x) + 100.0 * square(y - square(x)));
  });
  EXPECT_NEAR(at.values<double>()[0], 1, 1e-5);
  EXPECT_NEAR(at.values<double>()[1], 1, 1e-5);
  EXPECT_LT(calls, 100);
}

TEST(LBFGS, StaysWhereTheGradientIsZeroAndNeedsTheLoss) {
  const Tensor w = leaf({2}, 0);
  LBFGS lbfgs({w});
  EXPECT_EQ(lbfgs.step([&] { return sum(square(w)); }), 0);
  EXPECT_EQ(values(w), (std::vector<float>{0, 0}));
  Optimizer& plain = lbfgs;
  EXPECT_THAT(test::error_of([&] { plain.step(); }), HasSubstr("cannot step without the loss"));
}

TEST(LBFGS, SaysThatALossIsNotFinite) {
  const Tensor w = leaf({1}, -1);
  LBFGS lbfgs({w});
  EXPECT_THROW(lbfgs.step([&] { return sum(log(w)); }), DivergedError);
}

TEST(LBFGS, ResumesWithTheSameBits) {
  const auto loss = [](const Tensor& w) { return sum(square(square(w) - 2.0)); };
  const Tensor w = Tensor::of({3}, {0.3, -0.7, 2}).set_requires_grad();
  LBFGS whole({w}, {.max_iterations = 2, .history = 3});
  for (int i = 0; i < 3; ++i) whole.step([&] { return loss(w); });
  const NamedTensors saved = test::copy_of(whole.state_dict());
  const Tensor w2 = test::copy_of(w).set_requires_grad();
  for (int i = 0; i < 3; ++i) whole.step([&] { return loss(w); });

  LBFGS resumed({w2}, {.max_iterations = 2, .history = 3});
  resumed.load_state_dict(saved);
  for (int i = 0; i < 3; ++i) resumed.step([&] { return loss(w2); });
  EXPECT_EQ(values(w2), values(w));
  EXPECT_EQ(resumed.steps(), 6);
}

TEST(LBFGS, RefusesCountsThatNoRunHas) {
  const auto whole = [](std::vector<std::int64_t> numbers, const Shape& shape) {
    return Tensor::from<std::int64_t>(shape, numbers);
  };
  const auto loaded = [](Optimizer& optimizer, const char* name, const Tensor& value) {
    NamedTensors state = optimizer.state_dict();
    for (auto& [key, tensor] : state)
      if (key == name) tensor = value;
    optimizer.load_state_dict(state);
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Tensor w = leaf({2}, 3);
  const std::vector<std::vector<std::int64_t>> wrong{{-1, 0, 0}, {kMost, 0, 0}, {5, 4, 0},
                                                     {5, -1, 0}, {5, 2, 3},     {5, 2, -1}};
  for (const std::vector<std::int64_t>& counts : wrong) {
    LBFGS lbfgs({w}, {.history = 3});
    loaded(lbfgs, "counts", whole(counts, {3}));
    EXPECT_THAT(test::error_of([&] { lbfgs.step([&] { return sum(square(w)); }); }),
                HasSubstr("the state of L-BFGS is damaged"));
  }
}

}  // namespace
}  // namespace veldt::optim
