#include "veldt/nn/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/create.h"

namespace veldt {
namespace {

using LossFn = Tensor (*)(const Tensor&, const Tensor&);
constexpr LossFn kLosses[] = {mse, l1, bce_with_logits, hinge_mse};

TEST(Losses, BroadcastNothingAndNameBothShapes) {
  for (const LossFn loss : kLosses) {
    try {
      loss(ones({4, 1}), ones({4}));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const ShapeError& e) {
      EXPECT_THAT(e.summary(), testing::HasSubstr("cannot compare [4, 1] with [4]"));
    }
  }
}

TEST(Losses, OfNothingAreAnError) {
  for (const LossFn loss : kLosses) EXPECT_THROW(loss(ones({0, 3}), ones({0, 3})), ShapeError);
}

TEST(HingeMse, IsZeroPastTheTargetAndTheSquaredErrorBefore) {
  const Tensor target = Tensor::of({4}, {1, -1, 1, -1});
  EXPECT_EQ(hinge_mse(Tensor::of({4}, {1, -1, 5, -7}), target).item(), 0);
  const Tensor before = Tensor::of({4}, {0.5, 0, -1, -0.25});
  EXPECT_FLOAT_EQ(static_cast<float>(hinge_mse(before, target).item()),
                  static_cast<float>(mse(before, target).item()));
}

TEST(BceWithLogits, IsFiniteWhereASigmoidSaturates) {
  Tensor logits = Tensor::of({2}, {1e4, -1e4}).set_requires_grad();
  const Tensor loss = bce_with_logits(logits, Tensor::of({2}, {0, 1}));
  EXPECT_FLOAT_EQ(static_cast<float>(loss.item()), 1e4f);
  loss.backward();
  EXPECT_EQ(logits.grad().values<float>(), (std::vector<float>{0.5f, -0.5f}));
}

}  // namespace
}  // namespace veldt
