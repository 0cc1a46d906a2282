// What all optimizers share: gradients that are missing, huge or not finite, clipping, and state by name.
#include "veldt/optim/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/optim/leaf.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/lbfgs.h"
#include "veldt/optim/lion.h"
#include "veldt/optim/muon.h"
#include "veldt/optim/rmsprop.h"
#include "veldt/optim/sgd.h"
#include "veldt/tensor/graph.h"

namespace veldt::optim {
namespace {

using test::copy_of;
using test::leaf;
using test::values;
using testing::AllOf;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ------------------------------------------------------------------ gradients that are not there

TEST(Step, LeavesAParameterWithoutGradientAsItIs) {
  const Tensor used = leaf({3}), unused = leaf({5});
  AdamW adam({used, unused}, {.lr = 0.1, .weight_decay = 0.5});
  sum(used + 0.0).backward();
  sum(unused * 7.0).backward();
  adam.step();
  const std::vector<float> after_one = values(unused), used_after_one = values(used);
  for (int i = 0; i < 3; ++i) {
    adam.zero_grad();
    sum(used * 2.0).backward();  // nothing for `unused`: no stale gradient, no momentum, no decay
    adam.step();
  }
  EXPECT_EQ(values(unused), after_one);
  EXPECT_NE(values(used), used_after_one);
}

TEST(Step, SeesNoStaleNumbersInNormsEither) {
  const Tensor a = leaf({2}), b = leaf({3});
  SGD sgd({a, b});
  sum(b * 100.0).backward();
  sgd.zero_grad();
  EXPECT_EQ(sgd.gradient_norm(), 0);
  sum(a * 3.0).backward();
  EXPECT_FLOAT_EQ(static_cast<float>(sgd.gradient_norm()), std::sqrt(18.0f));
  EXPECT_FALSE(b.grad().defined());
}

TEST(Step, WithoutAnyBackwardChangesNothing) {
  const Tensor a = leaf({2});
  Adam adam({a});
  adam.step();
  EXPECT_EQ(values(a), (std::vector<float>{1, 1}));
}

TEST(Step, SkipsTheMiddleOfASlab) {
  const Tensor a = leaf({20}), b = leaf({20}), c = leaf({20});
  SGD sgd({a, b, c}, {.lr = 0.5, .momentum = 0.9});
  (sum(a) + sum(c * 2.0)).backward();
  sgd.step();
  EXPECT_EQ(values(a), std::vector<float>(20, 0.5f));
  EXPECT_EQ(values(b), std::vector<float>(20, 1.0f));
  EXPECT_EQ(values(c), std::vector<float>(20, 0.0f));
}

TEST(Step, AddsGradientsUpUntilTheyAreForgotten) {
  const Tensor a = leaf({1});
  SGD sgd({a}, {.lr = 1});
  sum(a).backward();
  sum(a).backward();
  sgd.step();
  EXPECT_EQ(values(a)[0], -1);
}

TEST(Step, UsesGradientsThatLieElsewhere) {
  Tensor a = leaf({2}), before = leaf({2});
  sum(before * 3.0).backward();  // before the optimizer was built
  SGD sgd({a, before}, {.lr = 1});
  a.set_grad(Tensor::of({2}, {0.25, 0.5}));
  sgd.step();
  EXPECT_EQ(values(a), (std::vector<float>{0.75f, 0.5f}));
  EXPECT_EQ(values(before), (std::vector<float>{-2, -2}));
  sum(square(square(a))).backward(true);  // create_graph gives the leaf another gradient tensor
  sgd.zero_grad();
  sum(square(a)).backward(true);
  sgd.step();
  EXPECT_EQ(values(a), (std::vector<float>{-0.75f, -0.5f}));
}

// ------------------------------------------------------------------ norms, clipping, finite checks

TEST(GradientNorm, CoversNumbersWhoseSquaresOverflow) {
  Tensor a = leaf({2});
  SGD sgd({a});
  a.set_grad(full({2}, 1e30));
  EXPECT_NEAR(sgd.gradient_norm() / (std::sqrt(2.0) * 1e30), 1, 1e-6);
  EXPECT_NEAR(sgd.clip_gradients(2) / (std::sqrt(2.0) * 1e30), 1, 1e-6);
  EXPECT_NEAR(sgd.gradient_norm(), 2, 1e-5);
}

TEST(GradientNorm, BelowTheLimitClipsNothing) {
  Tensor a = leaf({2});
  SGD sgd({a});
  a.set_grad(Tensor::of({2}, {3, 4}));
  EXPECT_EQ(sgd.clip_gradients(5), 5);
  EXPECT_EQ(values(a.grad()), (std::vector<float>{3, 4}));
}

TEST(GradientNorm, CoversNumbersWhoseSquaresUnderflow) {
  Tensor a = leaf({2}), wide = leaf({2}, 1, DType::f64);
  SGD sgd({a}), wide_sgd({wide});
  a.set_grad(full({2}, 1e-30));
  EXPECT_NEAR(sgd.gradient_norm() / (std::sqrt(2.0) * 1e-30), 1, 1e-6);
  for (const double size : {1e-200, 3e200}) {
    wide.set_grad(full({2}, size, DType::f64));
    EXPECT_NEAR(wide_sgd.gradient_norm() / (std::sqrt(2.0) * size), 1, 1e-12);
  }
  wide.set_grad(zeros({2}, DType::f64));
  EXPECT_EQ(wide_sgd.gradient_norm(), 0);
}

TEST(Clipping, OfValuesLimitsEachNumber) {
  Tensor a = leaf({3});
  SGD sgd({a});
  a.set_grad(Tensor::of({3}, {3, -0.5, -7}));
  sgd.clip_gradient_values(2);
  EXPECT_EQ(values(a.grad()), (std::vector<float>{2, -0.5f, -2}));
  EXPECT_THROW(sgd.clip_gradient_values(0), ConfigError);
}

TEST(Clipping, AsAnOptionIsDoneByStep) {
  Tensor a = leaf({2}), b = leaf({2});
  SGD by_norm({a}, {.lr = 1, .clip = {.norm = 1}}), by_value({b}, {.lr = 1, .clip = {.value = 2}});
  a.set_grad(Tensor::of({2}, {3, 4}));
  b.set_grad(Tensor::of({2}, {3, -0.5}));
  by_norm.step();
  by_value.step();
  EXPECT_NEAR(values(a)[0], 0.4, 1e-6);
  EXPECT_NEAR(values(a)[1], 0.2, 1e-6);
  EXPECT_EQ(values(b), (std::vector<float>{-1, 1.5f}));
  a.set_grad(Tensor::of({2}, {kNan, 4}));
  EXPECT_THROW(by_norm.step(), DivergedError);
  EXPECT_EQ(by_norm.steps(), 1);
  EXPECT_THROW(SGD({leaf({2})}, {.clip = {.norm = -1}}), ConfigError);
}

TEST(FiniteCheck, NamesTheFirstBadParameter) {
  Tensor a = leaf({2}), b = leaf({3}), c = leaf({1});
  SGD sgd(NamedTensors{{"body.weight", a}, {"body.bias", b}, {"head", c}});
  a.set_grad(full({2}, 3e38));  // their sum overflows, but each one is finite
  EXPECT_EQ(sgd.first_bad_gradient(), std::nullopt);
  b.set_grad(Tensor::of({3}, {0, kNan, 0}));
  c.set_grad(full({1}, kInfinity));
  EXPECT_EQ(sgd.first_bad_gradient(), "body.bias");
  EXPECT_THROW(sgd.clip_gradients(1), DivergedError);
  EXPECT_THAT(test::error_of([&] { sgd.clip_gradients(1); }),
              HasSubstr("gradient of body.bias is not finite"));
  EXPECT_EQ(sgd.first_bad_parameter(), std::nullopt);
  c.assign(full({1}, kNan));
  EXPECT_EQ(sgd.first_bad_parameter(), "head");
}

// ------------------------------------------------------------------ state

using Build = std::function<std::unique_ptr<Optimizer>(const NamedTensors&)>;

const Build kBuilds[] = {
    [](const NamedTensors& p) { return std::make_unique<Adam>(p, AdamOptions{.lr = 0.01}); },
    [](const NamedTensors& p) { return std::make_unique<AdamW>(p); },
    [](const NamedTensors& p) { return std::make_unique<SGD>(p, SGDOptions{.lr = 0.01, .momentum = 0.9}); },
    [](const NamedTensors& p) { return std::make_unique<SGD>(p, SGDOptions{.lr = 0.01}); },
    [](const NamedTensors& p) {
      return std::make_unique<RMSprop>(p, RMSpropOptions{.momentum = 0.9, .centered = true});
    },
    [](const NamedTensors& p) { return std::make_unique<Adagrad>(p, AdagradOptions{.lr_decay = 0.1}); },
    [](const NamedTensors& p) { return std::make_unique<RAdam>(p); },
    [](const NamedTensors& p) { return std::make_unique<Lion>(p); },
    [](const NamedTensors& p) { return std::make_unique<Adan>(p); },
    [](const NamedTensors& p) {
      return std::make_unique<Muon>(std::vector<Group<MuonOptions>>{{{p[0]}, {}}},
                                    std::vector<Group<AdamOptions>>{{{p[1]}, {.lazy = true}}});
    },
};

void take_steps(Optimizer& optimizer, const Tensor& w, const Tensor& b, int n) {
  for (int i = 0; i < n; ++i) {
    optimizer.zero_grad();
    (sum(square(square(w) - 2.0)) + sum(exp(b))).backward();
    optimizer.step();
  }
}

TEST(OptimizerState, ResumesWithTheSameBits) {
  for (const Build& build : kBuilds) {
    const Tensor w = leaf({3, 7}, 0.7), b = leaf({5}, -0.3);
    const auto whole = build({{"w", w}, {"b", b}});
    take_steps(*whole, w, b, 7);
    whole->set_lr(0.003);
    const NamedTensors saved = copy_of(whole->state_dict());
    const Tensor w2 = copy_of(w).set_requires_grad(), b2 = copy_of(b).set_requires_grad();
    take_steps(*whole, w, b, 11);

    const auto resumed = build({{"w", w2}, {"b", b2}});
    resumed->load_state_dict(saved);
    EXPECT_EQ(resumed->steps(), 7);
    EXPECT_EQ(resumed->lr(), 0.003);
    take_steps(*resumed, w2, b2, 11);
    EXPECT_EQ(values(w2), values(w));
    EXPECT_EQ(values(b2), values(b));
  }
}

TEST(OptimizerState, IsNamedByParameter) {
  std::vector<std::string> names;
  const Adam adam(NamedTensors{{"0.weight", leaf({2})}, {"0.bias", leaf({1})}});
  for (const auto& [name, tensor] : adam.state_dict()) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre("step", "lr", "exp_avg.0.weight", "exp_avg.0.bias",
                                          "exp_avg_sq.0.weight", "exp_avg_sq.0.bias"));
}

TEST(OptimizerState, ListsAllThatDoesNotFitAndChangesNothing) {
  SGD sgd({leaf({2}), leaf({3})}, {.lr = 0.5, .momentum = 0.9});
  const NamedTensors wrong{{"step", arange(1)}, {"momentum_buffer.0", ones({4})}, {"exp_avg.0", ones({2})}};
  const std::string message = test::error_of([&] { sgd.load_state_dict(wrong); });
  EXPECT_THAT(message, HasSubstr("step is [1], not []"));
  EXPECT_THAT(message, HasSubstr("lr is missing"));
  EXPECT_THAT(message, HasSubstr("momentum_buffer.0 is [4], not [2]"));
  EXPECT_THAT(message, HasSubstr("momentum_buffer.1 is missing"));
  EXPECT_THAT(message, HasSubstr("exp_avg.0 is unexpected"));
  EXPECT_EQ(sgd.lr(), 0.5);
}

// The one was built from a module's parameters(), the other from its named_parameters().
TEST(OptimizerState, SaysWhichParametersBothHaveToBeBuiltFrom) {
  const Tensor a = leaf({2, 3}), b = leaf({3}), c = leaf({2, 3}), d = leaf({3});
  Adam numbers({a, b}), names(NamedTensors{{"0.weight", c}, {"0.bias", d}});
  EXPECT_THAT(
      test::error_of([&] { numbers.load_state_dict(names.state_dict()); }),
      AllOf(HasSubstr("it has the parameters' names, exp_avg.0.bias, and here they are numbers, exp_avg.0"),
            HasSubstr("build the optimizer from model.named_parameters(), not from model.parameters()")));
  EXPECT_THAT(test::error_of([&] { names.load_state_dict(numbers.state_dict()); }),
              AllOf(HasSubstr("it has numbers, exp_avg.0, and here parameters have names, exp_avg.0.weight"),
                    HasSubstr("saved from an optimizer of model.parameters()")));
  const Adam other({leaf({2, 3})});  // of another model
  EXPECT_THAT(test::error_of([&] { names.load_state_dict(other.state_dict()); }),
              HasSubstr("the model that it was saved from"));
}

TEST(OptimizerState, RefusesACountThatNoRunHas) {
  SGD sgd({leaf({2})});
  NamedTensors state = sgd.state_dict();
  for (const std::int64_t step : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    state[0].tensor = Tensor::from<std::int64_t>({}, std::span(&step, 1));
    EXPECT_THAT(test::error_of([&] { sgd.load_state_dict(state); }), HasSubstr("its step is i64"));
  }
}

// ------------------------------------------------------------------ an optimizer of one's own

class SignDescent : public Optimizer {
 public:
  SignDescent(const std::vector<Tensor>& p, double lr) : Optimizer(numbered(p), lr, {"signs"}) {}

 protected:
  void update(std::size_t group, Slab::Range range) override {
    Tensor p = Slab::part(slab().values(), range), signs = Slab::part(state_slab(0), range);
    signs.assign(sign(Slab::part(slab().gradients(), range)));
    p.assign(p - group_lr(group) * signs);
  }
};

TEST(Step, RunsAnOptimizerWrittenWithOps) {
  const Tensor a = leaf({20}), b = leaf({3});
  SignDescent descent({a, b}, 0.5);
  sum(a * 7.0).backward();
  descent.step();
  EXPECT_EQ(values(a), std::vector<float>(20, 0.5f));
  EXPECT_EQ(values(b), std::vector<float>(3, 1));
}

TEST(Step, WithTheMeanGradientOfSeveralBatchesIsThatOfAllAtOnce) {
  const Tensor x = Tensor::of({6, 1}, {1, 2, 3, 4, 5, 6}, DType::f64);
  const auto trained = [&](std::int64_t batches) {
    const Tensor w = leaf({1}, 0.5, DType::f64);
    Adam adam({w}, {.lr = 0.1});
    for (int step = 0; step < 5; ++step) {
      adam.zero_grad();
      for (std::int64_t k = 0; k < batches; ++k) {
        const Tensor batch = slice(x, 0, k * 6 / batches, (k + 1) * 6 / batches);
        (mean(square(batch * w - 3.0)) / static_cast<double>(batches)).backward();
      }
      adam.step();
    }
    return w.values<double>()[0];
  };
  EXPECT_NEAR(trained(3), trained(1), 1e-14);
  EXPECT_NEAR(trained(2), trained(1), 1e-14);
}

// ------------------------------------------------------------------ options

TEST(Options, OutOfRangeAreConfigErrors) {
  const std::vector<Tensor> p{leaf({2})};
  EXPECT_THROW(SGD(p, {.lr = -1}), ConfigError);
  EXPECT_THROW(SGD(p, {.lr = kNan}), ConfigError);
  EXPECT_THROW(SGD(p, {.lr = kInfinity}), ConfigError);
  EXPECT_THROW(SGD(p, {.momentum = 1}), ConfigError);
  EXPECT_THROW(SGD(p, {.nesterov = true}), ConfigError);
  EXPECT_THROW(SGD(p, {.weight_decay = -0.1}), ConfigError);
  EXPECT_THROW(Adam(p, {.beta1 = 1}), ConfigError);
  EXPECT_THROW(Adam(p, {.beta2 = -0.1}), ConfigError);
  EXPECT_THROW(Adam(p, {.eps = 0}), ConfigError);
  EXPECT_THROW(Adam(p, {.eps = 1e-46}), ConfigError);  // 0 as f32
  EXPECT_NO_THROW(Adam({leaf({2}, 1, DType::f64)}, {.eps = 1e-46}));
  EXPECT_THROW(RMSprop(p, {.alpha = 1}), ConfigError);
  EXPECT_THROW(RMSprop(p, {.eps = 1e-46}), ConfigError);
  EXPECT_THROW(Adagrad(p, {.lr_decay = -1}), ConfigError);
  EXPECT_THROW(Lion(p, {.beta2 = 1}), ConfigError);
  EXPECT_THROW(Adan(p, {.beta3 = 1}), ConfigError);
  EXPECT_THROW(LBFGS(p, {.history = 0}), ConfigError);
  EXPECT_THROW(LBFGS(p, {.max_iterations = 0}), ConfigError);
  EXPECT_THROW(AdamW(p, {.lr = -1}), ConfigError);
  SGD sgd(p);
  EXPECT_THROW(sgd.set_lr(-1), ConfigError);
  EXPECT_THROW(sgd.clip_gradients(0), ConfigError);
  EXPECT_THAT(test::error_of([&] { SGD(p, {.lr = -1}); }), HasSubstr("lr cannot be -1"));
}

TEST(Options, ListsOfWrongParametersAreConfigErrors) {
  EXPECT_THROW(Adam(std::vector<Tensor>{}), ConfigError);
  EXPECT_THROW(Adam({leaf({2}), ones({2})}), ConfigError);
  EXPECT_THROW(Adam({leaf({2}), Tensor()}), ConfigError);
  EXPECT_THAT(test::error_of([] {
                Adam({leaf({2}), leaf({2}, 1, DType::f64)});
              }),
              HasSubstr("parameter 1 is f64 on cpu, the first one f32 on cpu"));
  EXPECT_THROW(Adam({leaf({2}) * 2.0}), Error);
}

}  // namespace
}  // namespace veldt::optim
