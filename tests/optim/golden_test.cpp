// Optimizers, clipping and schedules against PyTorch; the numbers are in tests/golden/optim.json.
#include "tests/golden/nn_and_optim.h"

#include <memory>

#include "veldt/ops/binary.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/optim/adam.h"
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
  if (name == "sgd") return std::make_unique<Sgd>(p, SgdOptions{.lr = 0.1});
  if (name == "sgd_decay") return std::make_unique<Sgd>(p, SgdOptions{.lr = 0.1, .weight_decay = 0.05});
  if (name == "sgd_momentum") return std::make_unique<Sgd>(p, SgdOptions{.lr = 0.05, .momentum = 0.9});
  if (name == "sgd_nesterov")
    return std::make_unique<Sgd>(
        p, SgdOptions{.lr = 0.05, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01});
  if (name == "adam") return std::make_unique<Adam>(p, AdamOptions{.lr = 0.02});
  if (name == "adam_fields")
    return std::make_unique<Adam>(p, AdamOptions{.lr = 0.02, .beta2 = 0.99, .eps = 1e-15});
  if (name == "adam_decay") return std::make_unique<Adam>(p, AdamOptions{.lr = 0.02, .weight_decay = 0.1});
  if (name == "adamw") return std::make_unique<AdamW>(p, AdamWOptions{.lr = 0.02, .weight_decay = 0.1});
  throw std::invalid_argument("the golden file has an optimizer that the test does not know: " + name);
}

class GoldenTrajectory : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, GoldenTrajectory, testing::Values(DType::f32, DType::f64),
                         [](const auto& at) { return std::string(name_of(at.param)); });

TEST_P(GoldenTrajectory, IsTorchsAfterFiftySteps) {
  const double tolerance = GetParam() == DType::f64 ? 1e-12 : 1e-5;
  EXPECT_EQ(golden().at("trajectories").size(), 8u);
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

TEST(GoldenClipping, IsTorchs) {
  const json& g = golden().at("clipping");
  const Problem problem(DType::f64);
  Sgd sgd(problem.named());
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
  expect_rates(CosineAnnealing{.lr_max = 0.1, .lr_min = 0.001, .epochs = 30, .epoch_offset = 10}, "cosine");
}

TEST(GoldenSchedule, WarmUpThenCosineIsTorchs) {
  expect_rates(
      LinearWarmup{.steps = 5, .then = CosineAnnealing{.lr_max = 0.1, .lr_min = 0.001, .epochs = 20}},
      "warmup");
}

}  // namespace
}  // namespace veldt::optim
