#include "veldt/nn/linear.h"

#include <gtest/gtest.h>

#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"

namespace veldt::nn {
namespace {

TEST(Linear, TakesAnyLeadingDimensions) {
  const Linear layer(3, 5);
  EXPECT_EQ(layer(ones({3})).shape(), (Shape{5}));
  EXPECT_EQ(layer(ones({2, 4, 3})).shape(), (Shape{2, 4, 5}));
  EXPECT_EQ(layer(ones({0, 3})).shape(), (Shape{0, 5}));
}

TEST(Linear, WithoutBiasHasAWeightAlone) {
  const Linear layer(3, 5, {.bias = false});
  EXPECT_EQ(layer.parameters().size(), 1u);
  EXPECT_FALSE(layer.bias().defined());
}

TEST(Linear, IsTheSameForTheSameRngAndMovesItOn) {
  Rng a(9), b(9);
  const Linear first(4, 4, a), again(4, 4, b), next(4, 4, a);
  EXPECT_EQ(first.weight().values<float>(), again.weight().values<float>());
  EXPECT_NE(first.weight().values<float>(), next.weight().values<float>());
  EXPECT_EQ(b.position(), 20u);
}

TEST(Linear, RefusesSizesBelowOne) {
  EXPECT_THROW(Linear(0, 5), ConfigError);
  EXPECT_THROW(Linear(5, -1), ConfigError);
}

TEST(Linear, NamesBothShapesOfAWrongInput) { EXPECT_THROW(Linear(3, 5)(ones({2, 4})), ShapeError); }

TEST(Activations, AreTheirOps) {
  const Tensor x = Tensor::of({3}, {-0.5, 0, 0.25});
  const auto values = [](const Tensor& t) { return t.values<float>(); };
  EXPECT_EQ(values(Tanh()(x)), values(tanh(x)));
  EXPECT_EQ(values(Relu()(x)), values(relu(x)));
  EXPECT_EQ(values(Sigmoid()(x)), values(sigmoid(x)));
  EXPECT_EQ(values(Softplus()(x)), values(softplus(x)));
  EXPECT_EQ(values(Sine(20)(x)), values(sine(x, 20)));
  EXPECT_EQ(values(Gauss(3)(x)), values(gauss(x, 3)));
  EXPECT_EQ(values(Finer(20)(x)), values(finer(x, 20)));
}

TEST(Init, RefusesWhatHasNoFans) {
  EXPECT_THROW(init::kaiming_normal(ones({3})), ShapeError);
  EXPECT_THROW(init::siren_hidden(ones({3, 3}), 0), ConfigError);
}

TEST(Init, CountsTheFieldOfAFilter) {
  const init::Fans fans = init::fans_of(ones({8, 4, 3, 3}));
  EXPECT_EQ(fans.in, 36);
  EXPECT_EQ(fans.out, 72);
}

}  // namespace
}  // namespace veldt::nn
