// The fully connected layer, activations as modules, and the statistics of first values.
#include "veldt/nn/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

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

TEST(Linear, RefusesAnInputOfAnotherDtype) {
  EXPECT_THROW(Linear(3, 5)(ones({2, 3}, DType::f64)), ShapeError);
  EXPECT_THROW(Linear(3, 5)(ones({2, 3}, DType::i64)), ShapeError);
}

TEST(Activations, AreTheirOps) {
  const Tensor x = Tensor::of({5}, {-4, -0.5, 0, 0.25, 7});
  const auto expect = [&](const Module& module, const Tensor& y, const char* title) {
    EXPECT_EQ(module(x).values<float>(), y.values<float>()) << title;
    EXPECT_EQ(module.title(), title);
  };
  expect(ReLU(), relu(x), "ReLU");
  expect(ReLU6(), relu6(x), "ReLU6");
  expect(SELU(), selu(x), "SELU");
  expect(GELU(), gelu(x), "GELU");
  expect(GELUTanh(), gelu_tanh(x), "GELUTanh");
  expect(SiLU(), silu(x), "SiLU");
  expect(Mish(), mish(x), "Mish");
  expect(Tanh(), tanh(x), "Tanh");
  expect(Sigmoid(), sigmoid(x), "Sigmoid");
  expect(LogSigmoid(), logsigmoid(x), "LogSigmoid");
  expect(Softplus(), softplus(x), "Softplus");
  expect(Softsign(), softsign(x), "Softsign");
  expect(Hardsigmoid(), hardsigmoid(x), "Hardsigmoid");
  expect(Hardswish(), hardswish(x), "Hardswish");
  expect(Hardtanh(-2, 0.5), hardtanh(x, -2, 0.5), "Hardtanh(-2, 0.5)");
  expect(Softmax(), softmax(x, 0), "Softmax(-1)");
  expect(LogSoftmax(0), log_softmax(x, 0), "LogSoftmax(0)");
  expect(LeakyReLU(0.2), leaky_relu(x, 0.2), "LeakyReLU(0.2)");
  expect(ELU(2), elu(x, 2), "ELU(2)");
  expect(CELU(2), celu(x, 2), "CELU(2)");
  expect(Sine(20), sine(x, 20), "Sine(20)");
  expect(Gauss(3), gauss(x, 3), "Gauss(3)");
  expect(Finer(20), finer(x, 20), "Finer(20)");
  expect(Wire(20, 3), wire(x, 20, 3), "Wire(20, 3)");
}

TEST(Init, RefusesWhatHasNoFans) {
  EXPECT_THROW(init::kaiming_normal(ones({3})), ShapeError);
  EXPECT_THROW(init::siren_hidden(ones({3, 3}), 0), ConfigError);
}

// The largest deviation of w w^T from gain^2 times the identity; w as rows, or columns if it has more rows.
double skew(const Tensor& weight, double gain) {
  const Tensor flat = reshape(weight, {weight.size(0), -1});
  const Tensor w = flat.size(0) <= flat.size(1) ? flat : transpose(flat);
  const std::vector<double> product = matmul(w, transpose(w)).values<double>();
  const std::size_t n = static_cast<std::size_t>(w.size(0));
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      worst = std::max(worst, std::abs(product[i * n + j] - (i == j ? gain * gain : 0)));
  return worst;
}

TEST(Init, OrthogonalRowsOrColumnsAreOrthonormalTimesTheGain) {
  Rng rng(5);
  for (const Shape& shape : {Shape{6, 6}, Shape{3, 50}, Shape{50, 3}, Shape{8, 2, 3, 3}, Shape{1, 1}}) {
    const Tensor w = empty(shape, DType::f64);
    init::orthogonal(w, 2, rng);
    EXPECT_LT(skew(w, 2), 1e-13) << shape;
  }
  EXPECT_THROW(init::orthogonal(ones({3})), ShapeError);
}

TEST(Init, DiracFiltersAreTheMiddleOfTheirChannel) {
  Tensor w = ones({3, 2, 3, 2});
  init::dirac(w);
  std::vector<float> want(36, 0.0f);
  want[0 * 12 + 0 * 6 + 3] = 1;  // row 1, column 1
  want[1 * 12 + 1 * 6 + 3] = 1;
  EXPECT_EQ(w.values<float>(), want);
  EXPECT_THROW(init::dirac(ones({3, 2})), ShapeError);
}

TEST(Init, TruncatedNormalKeepsItsBoundsAndItsMoments) {
  Rng rng(6);
  const Tensor w = empty({1 << 16}, DType::f64);
  init::truncated_normal(w, 1, 2, -1, 3, rng);  // a normal cut at one deviation on each side
  EXPECT_GE(min(w).item(), -1);
  EXPECT_LE(max(w).item(), 3);
  EXPECT_NEAR(mean(w).item(), 1, 0.01);
  EXPECT_NEAR(std::sqrt(variance(w).item()), 2 * 0.5396, 0.01);  // sqrt(1 - 2 phi(1) / (2 Phi(1) - 1))
  init::truncated_normal(w, 0, 1, 4, 5, rng);                    // far out
  EXPECT_GE(min(w).item(), 4);
  EXPECT_NEAR(mean(w).item(), 4.2248, 0.01);  // (phi(4) - phi(5)) / (Phi(5) - Phi(4))
  EXPECT_THROW(init::truncated_normal(w, 0, 1, 2, 1), ConfigError);
  EXPECT_THROW(init::truncated_normal(w, 0, 1, 9, 10), ConfigError);
  EXPECT_THROW(init::truncated_normal(w, 0, 0), ConfigError);
}

TEST(Init, LecunsVarianceIsOneOverTheInputs) {
  Rng rng(7);
  const Tensor w = empty({400, 100});
  init::lecun_normal(w, rng);
  EXPECT_NEAR(variance(w).item(), 0.01, 2e-4);
  init::lecun_uniform(w, rng);
  EXPECT_NEAR(variance(w).item(), 0.01, 2e-4);
  EXPECT_LE(max(abs(w)).item(), std::sqrt(0.03) + 1e-7);
}

TEST(Init, CountsTheFieldOfAFilter) {
  const init::Fans fans = init::fans_of(ones({8, 4, 3, 3}));
  EXPECT_EQ(fans.in, 36);
  EXPECT_EQ(fans.out, 72);
}

}  // namespace
}  // namespace veldt::nn
