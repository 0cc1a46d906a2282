// What losses refuse, and their values where formulas overflow, saturate or have a bend.
#include "veldt/nn/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "tests/support/gradients.h"
#include "veldt/core/error.h"
#include "veldt/nn/module.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/create.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt {
namespace {

using LossFn = Tensor (*)(const Tensor&, const Tensor&);
using Pair = const Tensor&;
constexpr LossFn kLosses[] = {
    [](Pair p, Pair t) { return mse_loss(p, t); },
    [](Pair p, Pair t) { return l1_loss(p, t); },
    [](Pair p, Pair t) { return huber_loss(p, t); },
    [](Pair p, Pair t) { return smooth_l1_loss(p, t); },
    [](Pair p, Pair t) { return hinge_mse(p, t); },
    [](Pair p, Pair t) { return hinge_embedding_loss(p, t); },
    [](Pair p, Pair t) { return binary_cross_entropy(p, t); },
    [](Pair p, Pair t) { return binary_cross_entropy_with_logits(p, t); },
    [](Pair p, Pair t) { return kl_div(p, t); },
    [](Pair p, Pair t) { return sigmoid_focal_loss(p, t); },
    [](Pair p, Pair t) { return poisson_nll_loss(p, t); },
    [](Pair p, Pair t) { return gaussian_nll_loss(p, t, ones({})); },
    [](Pair p, Pair t) { return margin_ranking_loss(p, t, ones_like(p), {.margin = 2}); },
    [](Pair p, Pair t) { return triplet_margin_loss(p, t, 3.0 - p, {.margin = 9}); },
};

TEST(Huber, HasTheCurvatureOfItsSquareWhereThereIsNoError) {
  for (LossFn loss : {LossFn([](Pair p, Pair t) { return huber_loss(p, t); }),
                      LossFn([](Pair p, Pair t) { return smooth_l1_loss(p, t); })}) {
    const Tensor x = Tensor::of({1}, {2}, DType::f64).set_requires_grad(),
                 t = Tensor::of({1}, {2}, DType::f64);
    const Tensor slope = grad(loss(x, t), {x}, true)[0];
    EXPECT_EQ(slope.item(), 0);
    EXPECT_EQ(grad(sum(slope), {x})[0].item(), 1);
  }
}

TEST(Losses, BroadcastNothingAndNameBothShapes) {
  for (const LossFn loss : kLosses)
    EXPECT_THAT(test::error_of<ShapeError>([&] {
                  loss(ones({4, 1}), ones({4}));
                }),
                testing::HasSubstr("cannot compare [4, 1] with [4]"));
}

TEST(Losses, OfNothingAreAnError) {
  for (const LossFn loss : kLosses) EXPECT_THROW(loss(ones({0, 3}), ones({0, 3})), ShapeError);
}

TEST(HingeMse, IsZeroPastTheTargetAndTheSquaredErrorBefore) {
  const Tensor target = Tensor::of({4}, {1, -1, 1, -1});
  EXPECT_EQ(hinge_mse(Tensor::of({4}, {1, -1, 5, -7}), target).item(), 0);
  const Tensor before = Tensor::of({4}, {0.5, 0, -1, -0.25});
  EXPECT_FLOAT_EQ(static_cast<float>(hinge_mse(before, target).item()),
                  static_cast<float>(mse_loss(before, target).item()));
}

TEST(BceWithLogits, IsFiniteWhereASigmoidSaturates) {
  Tensor logits = Tensor::of({2}, {1e4, -1e4}).set_requires_grad();
  const Tensor loss = binary_cross_entropy_with_logits(logits, Tensor::of({2}, {0, 1}));
  EXPECT_FLOAT_EQ(static_cast<float>(loss.item()), 1e4f);
  loss.backward();
  EXPECT_EQ(logits.grad().values<float>(), (std::vector<float>{0.5f, -0.5f}));
}

// ------------------------------------------------------------------ second derivatives

TEST(Losses, CanBeDifferentiatedTwice) {
  Rng rng(8);
  const test::Values p = test::uniform({3, 4}, rng, 0.1, 0.9), t = test::uniform({3, 4}, rng, 0.1, 0.9);
  for (const LossFn loss : kLosses) {
    const auto report = test::check_gradients(
        [loss](const std::vector<Tensor>& in) { return loss(in[0], in[1]); }, {{p}, {t}}, 2);
    EXPECT_TRUE(report.ok) << report.message;
  }
  const Tensor classes = Tensor::from<std::int64_t>({3}, std::vector<std::int64_t>{0, 3, 1});
  const auto report = test::check_gradients(
      [&](const std::vector<Tensor>& in) {
        return cross_entropy(in[0], classes, {.weights = in[1], .label_smoothing = 0.1});
      },
      {{p}, {test::uniform({4}, rng, 0.5, 2)}}, 2);
  EXPECT_TRUE(report.ok) << report.message;
}

TEST(SmoothL1, OfATinyBendIsL1) {
  const Tensor p = Tensor::of({4}, {1e-5, -3, 0, INFINITY}), t = zeros({4});
  for (const double beta : {1e-30, 1e-40, 1e-300})
    EXPECT_EQ(smooth_l1_loss(p, t, {.beta = beta, .reduction = Reduction::none}).values<float>(),
              l1_loss(p, t, {.reduction = Reduction::none}).values<float>());
}

TEST(Huber, IsStraightBeyondItsBend) {
  Tensor p = Tensor::of({5}, {0.25, -0.25, 3, -INFINITY, NAN}).set_requires_grad();
  const Tensor y = huber_loss(p, zeros({5}), {.delta = 0.5, .reduction = Reduction::none});
  sum(y).backward();
  const std::vector<float> values = y.detach().values<float>(), slopes = p.grad().values<float>();
  EXPECT_EQ(std::vector(values.begin(), values.begin() + 4),
            (std::vector<float>{0.03125f, 0.03125f, 1.375f, INFINITY}));
  EXPECT_EQ(std::vector(slopes.begin(), slopes.begin() + 4),
            (std::vector<float>{0.25f, -0.25f, 0.5f, -0.5f}));
  EXPECT_TRUE(std::isnan(values[4]) && std::isnan(slopes[4]));
}

// ------------------------------------------------------------------ classes

Tensor indices(std::initializer_list<std::int64_t> list) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(list.size())}, std::vector(list));
}

TEST(CrossEntropy, OfHugeLogitsIsFinite) {
  Tensor logits = Tensor::of({2, 2}, {1e30, -1e30, 3e38, 3e38}).set_requires_grad();
  const Tensor loss = cross_entropy(logits, indices({0, 1}));
  EXPECT_NEAR(loss.item(), std::log(2) / 2, 1e-6);
  loss.backward();
  EXPECT_EQ(logits.grad().values<float>(), (std::vector<float>{0, 0, 0.25f, -0.25f}));
}

TEST(CrossEntropy, OfIgnoredRowsAloneIsNoNumberAsTorchs) {
  const Tensor logits = ones({2, 3});
  EXPECT_TRUE(std::isnan(cross_entropy(logits, indices({-100, -100})).item()));
  EXPECT_EQ(cross_entropy(logits, indices({-100, -100}), {.reduction = Reduction::sum}).item(), 0);
}

TEST(CrossEntropy, NamesWhatDoesNotFit) {
  const Tensor logits = ones({2, 3});
  const auto text = [&](const Tensor& target, ClassOptions o = {}) {
    return test::error_of([&] { cross_entropy(logits, target, o); });
  };
  EXPECT_THAT(text(indices({0, 3})),
              testing::HasSubstr("cross_entropy was asked for position 3 of dimension 1"));
  EXPECT_THAT(text(indices({0, -1})), testing::HasSubstr("position -1 of dimension 1"));
  EXPECT_THAT(text(indices({0, 1, 2})), testing::HasSubstr("cannot compare [2, 3] with [3] of i64"));
  EXPECT_NO_THROW(cross_entropy(logits, ones({2}, DType::boolean)));  // two of class 1
  EXPECT_THAT(text(ones({2})), testing::HasSubstr("cannot compare [2, 3] with [2] of f32"));
  EXPECT_THAT(text(indices({0, 1}), {.weights = ones({2})}), testing::HasSubstr("3 classes by [2]"));
  EXPECT_THAT(text(indices({0, 1}), {.label_smoothing = 1.5}), testing::HasSubstr("by 1.5"));
  EXPECT_NE(test::error_of<ShapeError>([&] { cross_entropy(ones({0, 3}), indices({})); }), "");
  EXPECT_NE(test::error_of<ShapeError>([&] { cross_entropy(ones({}), indices({})); }), "");
  EXPECT_NE(test::error_of<ShapeError>([&] { nll_loss(logits, ones({2, 3})); }), "");
  EXPECT_NE(test::error_of<ConfigError>([&] {
              nll_loss(logits, indices({0, 1}), {.label_smoothing = 0.1});
            }),
            "");
}

TEST(Losses, RefuseOptionsOutOfRange) {
  const Tensor x = ones({2});
  EXPECT_THROW(huber_loss(x, x, {.delta = 0}), ConfigError);
  EXPECT_THROW(smooth_l1_loss(x, x, {.beta = -1}), ConfigError);
  EXPECT_THROW(kl_div(x, x, {.batch_mean = true, .reduction = Reduction::sum}), ConfigError);
  EXPECT_THROW(binary_cross_entropy_with_logits(x, x, {.pos_weight = ones({3, 2})}), ShapeError);
  EXPECT_THROW(sigmoid_focal_loss(x, x, {.gamma = -1}), ConfigError);
  EXPECT_THROW(triplet_margin_loss(x, x, x, {.margin = 0}), ConfigError);
  EXPECT_THROW(triplet_margin_loss(x, x, ones({3})), ShapeError);
  EXPECT_THROW(triplet_margin_loss(ones({}), ones({}), ones({})), ShapeError);
  EXPECT_THROW(margin_ranking_loss(x, x, ones({1})), ShapeError);
  EXPECT_THROW(gaussian_nll_loss(x, x, x, {.eps = 0}), ConfigError);
  EXPECT_THROW(gaussian_nll_loss(x, x, ones({2, 2})), ShapeError);
  EXPECT_THROW(gaussian_nll_loss(x, x, ones({3})), ShapeError);
  EXPECT_THROW(cosine_embedding_loss(ones({2, 3}), ones({2, 3}), ones({3})), ShapeError);
}

TEST(CrossEntropy, ReplaysInAPlan) {
  Tensor logits = Tensor::of({2, 3}, {1, 2, 3, 0, -1, 2}).set_requires_grad(), target = indices({2, 0});
  Plan plan([&] {
    const Tensor loss = cross_entropy(logits, target);
    logits.zero_grad();
    loss.backward();
    return loss;
  });
  plan.replay();
  EXPECT_EQ(plan.output().item(), cross_entropy(logits, target).item());
  target.assign(indices({1, -100}));
  plan.replay();
  EXPECT_EQ(plan.output().item(), cross_entropy(logits, target).item());
}

TEST(Losses, FocalOfWhatIsRightHasAFiniteGradient) {
  for (const double gamma : {0.0, 0.5, 1.0, 2.0}) {
    Tensor x = nn::parameter(Tensor::of({3}, {18, 100, -40}));
    sum(sigmoid_focal_loss(x, Tensor::of({3}, {1, 1, 0}), {.gamma = gamma})).backward();
    for (const float g : x.grad().values<float>()) EXPECT_TRUE(std::isfinite(g)) << gamma;
  }
}

TEST(Losses, GaussianTakesAVarianceForEachRow) {
  const Tensor p = Tensor::of({2, 2}, {1, 2, 3, 4}), t = zeros({2, 2}), v = Tensor::of({2}, {1, 4});
  const GaussianOptions each{.reduction = Reduction::none};
  EXPECT_EQ(gaussian_nll_loss(p, t, v, each).values<float>(),
            gaussian_nll_loss(p, t, Tensor::of({2, 2}, {1, 1, 4, 4}), each).values<float>());
  EXPECT_EQ(gaussian_nll_loss(zeros({4, 5}), zeros({4, 5}), ones({4}), each).shape(), (Shape{4, 5}));
}

TEST(Losses, GaussianHasNoVarianceBelowItsEps) {
  const Tensor p = zeros({3}), t = ones({3}), least = full({3}, 1e-6);
  EXPECT_EQ(gaussian_nll_loss(p, t, Tensor::of({3}, {-1000, -5, 0}), {.reduction = Reduction::none})
                .values<float>(),
            gaussian_nll_loss(p, t, least, {.reduction = Reduction::none}).values<float>());
}

}  // namespace
}  // namespace veldt
