// Optimizers, clipping and schedules against PyTorch, Lion and Adan against their papers; the numbers are in
// tests/golden/optim.json.
#include "tests/golden/nn_and_optim.h"

#include <memory>

#include "veldt/ops/binary.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/lbfgs.h"
#include "veldt/optim/lion.h"
#include "veldt/optim/plateau.h"
#include "veldt/optim/rmsprop.h"
#include "veldt/optim/schedule.h"
#include "veldt/optim/sgd.h"

namespace veldt::optim {
namespace {

using nlohmann::json;
using test::near;
using test::tensor_of;

const json& golden() {
  static const json all = test::read_golden("optim.json");
  return all;
}

// The layer that optim.py trains.
struct Problem {
  explicit Problem(DType dtype)
      : weight(tensor_of(golden().at("weight"), dtype)),
        bias(tensor_of(golden().at("bias"), dtype)),
        x(tensor_of(golden().at("x"), dtype)),
        y(tensor_of(golden().at("y"), dtype)) {
    weight.set_requires_grad();
    bias.set_requires_grad();
  }
  Tensor loss() const { return mean(square(tanh(linear(x, weight, bias)) - y)); }
  NamedTensors named() const { return {{"weight", weight}, {"bias", bias}}; }
  Tensor weight, bias, x, y;
};

using Optimizing = std::unique_ptr<Optimizer>;

Optimizing make(const std::string& name, const NamedTensors& p) {
  if (name == "sgd") return std::make_unique<SGD>(p, SGDOptions{.lr = 0.1});
  if (name == "sgd_decay") return std::make_unique<SGD>(p, SGDOptions{.lr = 0.1, .weight_decay = 0.05});
  if (name == "sgd_momentum") return std::make_unique<SGD>(p, SGDOptions{.lr = 0.05, .momentum = 0.9});
  if (name == "sgd_nesterov")
    return std::make_unique<SGD>(
        p, SGDOptions{.lr = 0.05, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01});
  if (name == "adam") return std::make_unique<Adam>(p, AdamOptions{.lr = 0.02});
  if (name == "adam_fields")
    return std::make_unique<Adam>(p, AdamOptions{.lr = 0.02, .beta2 = 0.99, .eps = 1e-15});
  if (name == "adam_decay") return std::make_unique<Adam>(p, AdamOptions{.lr = 0.02, .weight_decay = 0.1});
  if (name == "adamw") return std::make_unique<AdamW>(p, AdamWOptions{.lr = 0.02, .weight_decay = 0.1});
  if (name == "adamw_groups")
    return std::make_unique<AdamW>(std::vector<Group<AdamWOptions>>{
        {{p[0]}, {.lr = 0.02, .weight_decay = 0.2}}, {{p[1]}, {.lr = 0.005, .weight_decay = 0}}});
  if (name == "radam") return std::make_unique<RAdam>(p, RAdamOptions{.lr = 0.02});
  if (name == "radam_decay")
    return std::make_unique<RAdam>(
        p, RAdamOptions{.lr = 0.02, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1});
  if (name == "rmsprop") return std::make_unique<RMSprop>(p, RMSpropOptions{.lr = 0.01});
  if (name == "rmsprop_momentum")
    return std::make_unique<RMSprop>(p,
                                     RMSpropOptions{.lr = 0.005, .alpha = 0.9, .eps = 1e-6, .momentum = 0.9});
  if (name == "rmsprop_centered")
    return std::make_unique<RMSprop>(p, RMSpropOptions{.lr = 0.01, .weight_decay = 0.05, .centered = true});
  if (name == "rmsprop_both")
    return std::make_unique<RMSprop>(p, RMSpropOptions{.lr = 0.002, .momentum = 0.8, .centered = true});
  if (name == "adagrad") return std::make_unique<Adagrad>(p, AdagradOptions{.lr = 0.1});
  if (name == "adagrad_decay")
    return std::make_unique<Adagrad>(
        p,
        AdagradOptions{.lr = 0.1, .lr_decay = 0.05, .eps = 1e-6, .weight_decay = 0.02, .initial_sum = 0.1});
  if (name == "lion") return std::make_unique<Lion>(p, LionOptions{.lr = 0.01});
  if (name == "lion_decay")
    return std::make_unique<Lion>(p,
                                  LionOptions{.lr = 0.01, .beta1 = 0.95, .beta2 = 0.98, .weight_decay = 0.3});
  if (name == "adan") return std::make_unique<Adan>(p, AdanOptions{.lr = 0.02});
  if (name == "adan_decay")
    return std::make_unique<Adan>(
        p,
        AdanOptions{.lr = 0.02, .beta1 = 0.9, .beta2 = 0.8, .beta3 = 0.95, .eps = 1e-6, .weight_decay = 0.2});
  throw std::invalid_argument("the golden file has an optimizer that the test does not know: " + name);
}

class GoldenTrajectory : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, GoldenTrajectory, testing::Values(DType::f32, DType::f64),
                         [](const auto& at) { return std::string(name_of(at.param)); });

TEST_P(GoldenTrajectory, IsTheReferencesAfterFiftySteps) {
  const double tolerance = GetParam() == DType::f64 ? 1e-12 : 1e-5;
  EXPECT_EQ(golden().at("trajectories").size(), 21u);
  for (const auto& [name, kept] : golden().at("trajectories").items()) {
    const Problem problem(GetParam());
    const Optimizing optimizer = make(name, problem.named());
    for (const json& at : kept) {
      while (optimizer->steps() < at.at("step").get<std::int64_t>()) {
        optimizer->zero_grad();
        problem.loss().backward();
        optimizer->step();
      }
      EXPECT_TRUE(near(problem.weight, at.at("weight"), tolerance)) << name << " step " << at.at("step");
      EXPECT_TRUE(near(problem.bias, at.at("bias"), tolerance)) << name << " step " << at.at("step");
    }
  }
}

LBFGSOptions lbfgs_options(const std::string& name) {
  if (name == "wolfe") return {.max_iterations = 1, .max_evaluations = 25, .history = 100};
  if (name == "wolfe_long") return {.max_iterations = 4, .history = 3};
  if (name == "wolfe_far") return {.lr = 20, .max_iterations = 2, .max_evaluations = 20, .history = 5};
  if (name == "fixed") return {.lr = 0.3, .max_iterations = 3, .history = 4, .line_search = LineSearch::none};
  throw std::invalid_argument("the golden file has options that the test does not know: " + name);
}

// Steps a problem through one of the golden runs. After ten steps the loss lies in a flat valley, which
// magnifies the rounding of either side.
void expect_lbfgs(const std::string& name, DType dtype, std::int64_t steps, double near_tolerance) {
  const json& g = golden().at("lbfgs").at(name);
  const Problem problem(dtype);
  LBFGS lbfgs(problem.named(), lbfgs_options(name));
  int calls = 0;
  const auto loss = [&] {
    ++calls;
    return problem.loss();
  };
  std::size_t kept = 0;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const double tolerance = step <= 10 ? near_tolerance : 1e-5;
    const double expected = g.at("losses").at(static_cast<std::size_t>(step - 1)).get<double>();
    EXPECT_NEAR(lbfgs.step(loss), expected, tolerance) << name << " step " << step;
    const json& at = g.at("kept").at(kept);
    if (at.at("step").get<std::int64_t>() != step) continue;
    ++kept;
    EXPECT_EQ(calls, at.at("calls").get<int>()) << name << " step " << step;
    EXPECT_TRUE(near(problem.weight, at.at("weight"), tolerance)) << name << " step " << step;
    EXPECT_TRUE(near(problem.bias, at.at("bias"), tolerance)) << name << " step " << step;
  }
}

TEST(GoldenLbfgs, IsTorchsWithAsManyEvaluationsInDouble) {
  EXPECT_EQ(golden().at("lbfgs").size(), 4u);
  for (const auto& [name, run] : golden().at("lbfgs").items()) expect_lbfgs(name, DType::f64, 25, 1e-9);
}

TEST(GoldenLbfgs, IsTorchsInSinglePrecisionWhileTheLossIsSteep) {
  for (const auto& [name, run] : golden().at("lbfgs").items()) expect_lbfgs(name, DType::f32, 3, 1e-4);
}

TEST(GoldenClipping, IsTorchs) {
  const json& g = golden().at("clipping");
  const Problem problem(DType::f64);
  SGD sgd(problem.named());
  (problem.loss() * g.at("scale").get<double>()).backward();
  EXPECT_NEAR(sgd.clip_gradients(g.at("max_norm").get<double>()), g.at("norm").get<double>(), 1e-12);
  EXPECT_TRUE(near(problem.weight.grad(), g.at("weight"), 1e-6));  // torch adds 1e-6 to the norm
  EXPECT_TRUE(near(problem.bias.grad(), g.at("bias"), 1e-6));
  EXPECT_NEAR(sgd.gradient_norm(), g.at("max_norm").get<double>(), 1e-12);
}

void expect_rates(const Schedule& schedule, const char* name) {
  const auto rates = golden().at("schedules").at(name).get<std::vector<double>>();
  for (std::size_t i = 0; i < rates.size(); ++i)
    EXPECT_NEAR(schedule(static_cast<std::int64_t>(i)), rates[i], 1e-15) << name << " step " << i;
}

TEST(GoldenSchedule, CosineWithOffsetIsTorchs) {
  expect_rates(CosineAnnealing{.lr_max = 0.1, .lr_min = 0.001, .steps = 30, .offset = 10}, "cosine");
}

TEST(GoldenSchedule, WarmUpThenCosineIsTorchs) {
  expect_rates(LinearWarmup{.steps = 5, .then = CosineAnnealing{.lr_max = 0.1, .lr_min = 0.001, .steps = 20}},
               "warmup");
}

TEST(GoldenSchedule, EveryOtherOneIsTorchs) {
  expect_rates(StepDecay{.lr = 0.1, .every = 7, .factor = 0.3}, "step");
  expect_rates(MultiStep{.lr = 0.1, .at = {3, 10, 10, 22}, .factor = 0.5}, "multistep");
  expect_rates(Exponential{.lr = 0.1, .factor = 0.93}, "exponential");
  expect_rates(Polynomial{.lr = 0.1, .steps = 25, .power = 1.7}, "polynomial");
  expect_rates(Linear{.lr_start = 0.025, .lr_end = 0.075, .steps = 12}, "linear");
  expect_rates(CosineRestarts{.lr_max = 0.1, .lr_min = 0.01, .period = 5, .growth = 2}, "restarts");
  expect_rates(CosineRestarts{.lr_max = 0.1, .period = 6}, "restarts_even");
  expect_rates(OneCycle{.lr_max = 0.1, .steps = 40}, "one_cycle");
  expect_rates(
      OneCycle{
          .lr_max = 0.1, .steps = 40, .rise = 0.25, .start_divisor = 10, .end_divisor = 100, .linear = true},
      "one_cycle_linear");
  expect_rates(OneCycle{.lr_max = 0.1, .steps = 40, .three_phases = true}, "one_cycle_three");
  expect_rates(Sequence{.parts = {Linear{.lr_start = 0.01, .lr_end = 0.1, .steps = 5},
                                  StepDecay{.lr = 0.1, .every = 4, .factor = 0.5},
                                  Exponential{.lr = 0.1, .factor = 0.9}},
                        .at = {5, 20}},
               "sequence");
  expect_rates(
      Product{{Exponential{.lr = 0.1, .factor = 0.9}, Linear{.lr_start = 0.1, .lr_end = 1, .steps = 5}}},
      "chained");
}

TEST(GoldenPlateau, FallsWhenTorchsDoesAndResumesExactly) {
  const std::pair<const char*, PlateauOptions> cases[] = {
      {"relative", {.lr = 0.1, .factor = 0.5, .patience = 1}},
      {"absolute", {.lr = 0.1, .patience = 2, .threshold = 0.05, .relative = false, .lr_min = 0.003}},
      {"cooldown", {.lr = 0.1, .factor = 0.3, .patience = 1, .cooldown = 3}},
      {"max", {.lr = 0.1, .factor = 0.5, .patience = 2, .threshold = 0.01, .larger_is_better = true}},
  };
  const json& g = golden().at("plateaus");
  const auto losses = g.at("losses").get<std::vector<double>>();
  for (const auto& [name, options] : cases) {
    const auto rates = g.at("rates").at(name).get<std::vector<double>>();
    NamedTensors saved = Plateau(options).state_dict();
    for (std::size_t i = 0; i < losses.size(); ++i) {
      Plateau plateau(options);  // a new one each time: all that counts is in the state
      plateau.load_state_dict(saved);
      EXPECT_NEAR(plateau.update(losses[i]), rates[i], 1e-16) << name << " update " << i;
      saved = plateau.state_dict();
    }
  }
}

}  // namespace
}  // namespace veldt::optim
