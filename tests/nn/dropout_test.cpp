#include "veldt/nn/dropout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "veldt/core/error.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/plan.h"

namespace veldt::nn {
namespace {

std::vector<float> values(const Tensor& t) { return t.values<float>(); }

TEST(Dropout, DropsItsShareAndScalesTheRest) {
  Rng rng(1);
  const Dropout layer(0.25, rng);
  const std::vector<float> out = values(layer(ones({400, 100})));
  const auto dropped = std::count(out.begin(), out.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped) / 40000, 0.25, 0.01);
  EXPECT_EQ(std::count(out.begin(), out.end(), 1.0f / 0.75f), 40000 - dropped);
}

TEST(Dropout, DropsTheSameOfTheGradient) {
  Rng rng(2);
  const Dropout layer(0.5, rng);
  Tensor x = ones({100}, DType::f64).set_requires_grad();
  const Tensor y = layer(x);
  sum(y).backward();
  EXPECT_EQ(x.grad().values<double>(), y.values<double>());
}

TEST(Dropout, DoesNothingInEvaluationAndAllAtTheBounds) {
  Dropout layer(0.5), none(0), all(1);
  layer.eval();
  const Tensor x = full({5}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(values(layer(x)), values(x));
  EXPECT_EQ(values(none(x)), values(x));
  EXPECT_EQ(values(all(x)), std::vector<float>(5, 0.0f));
  EXPECT_THROW(Dropout(1.5), ConfigError);
  EXPECT_THROW(Dropout(-0.1), ConfigError);
}

TEST(Dropout, DrawsAnewAtEachCallAndGoesOnWhereItWasSaved) {
  Rng rng(3);
  const Dropout layer(0.5, rng);
  const Tensor x = ones({64});
  const std::vector<float> first = values(layer(x));
  NamedTensors saved;
  for (const auto& [name, tensor] : layer.state())
    saved.push_back({name, Tensor::from<std::int64_t>({2}, tensor.values<std::int64_t>())});
  const std::vector<float> second = values(layer(x)), third = values(layer(x));
  EXPECT_NE(first, second);
  Dropout resumed(0.5);
  resumed.load_state(saved);
  EXPECT_EQ(values(resumed(x)), second);
  EXPECT_EQ(values(resumed(x)), third);
}

TEST(Dropout, DrawsAnewAtEachReplayOfAPlan) {
  Rng one(4), other(4);
  const Dropout layer(0.5, one), planned(0.5, other);
  const Tensor x = ones({64});
  Plan plan([&] { return planned(x); });
  for (int i = 0; i < 3; ++i) {
    plan.replay();
    EXPECT_EQ(values(plan.output()), values(layer(x)));
  }
}

TEST(Dropout, IsNotMissedInAFileOfTorchs) {
  Sequential model(Linear(2, 2), Dropout(0.5));
  const NamedTensors torchs{{"0.weight", ones({2, 2})}, {"0.bias", ones({2})}};
  EXPECT_TRUE(model.load_state(torchs).complete());
}

}  // namespace
}  // namespace veldt::nn
