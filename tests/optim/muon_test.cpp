// Muon against PyTorch's (tests/golden/muon.json), which matrices it takes, and how it resumes.
#include "veldt/optim/muon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "tests/golden/nn_and_optim.h"
#include "tests/optim/leaf.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/plan.h"

namespace veldt::optim {
namespace {

using nlohmann::json;
using test::copy_of;
using test::leaf;
using test::near;
using test::tensor_of;
using test::values;
using testing::ElementsAre;
using testing::HasSubstr;

using Matrices = std::vector<Group<MuonOptions>>;

// ------------------------------------------------------------------ against PyTorch

MuonOptions options_of(const std::string& name) {
  if (name == "default") return {};
  if (name == "plain")
    return {.lr = 0.1, .momentum = 0.8, .nesterov = false, .weight_decay = 0, .ns_steps = 3};
  if (name == "match_rms_adamw")
    return {.lr = 0.05, .weight_decay = 0.3, .scale = MuonScale::match_rms_adamw};
  if (name == "spectral_unclamped")
    return {.lr = 0.02, .momentum = 0, .scale = MuonScale::spectral_unclamped};
  throw std::invalid_argument("the golden file has options that the test does not know: " + name);
}

std::vector<Tensor> trained(const json& golden, const MuonOptions& options, DType dtype, std::size_t steps) {
  std::vector<Tensor> matrices;
  NamedTensors named;
  for (const json& start : golden.at("starts")) {
    matrices.push_back(tensor_of(start, dtype).set_requires_grad());
    named.push_back({std::to_string(named.size()), matrices.back()});
  }
  Muon muon({{named, options}});
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < matrices.size(); ++i)
      matrices[i].set_grad(tensor_of(golden.at("gradients").at(step).at(i), dtype));
    muon.step();
  }
  return matrices;
}

TEST(GoldenMuon, IsTorchsOnWideTallSquareAndThinMatrices) {
  const json golden = test::read_golden("muon.json");
  EXPECT_EQ(golden.at("cases").size(), 4u);
  for (const auto& [name, kept] : golden.at("cases").items())
    for (const DType dtype : {DType::f32, DType::f64}) {
      const std::vector<Tensor> end = trained(golden, options_of(name), dtype, golden.at("gradients").size());
      const double tolerance = dtype == DType::f64 ? 1e-12 : 1e-5;
      for (std::size_t i = 0; i < end.size(); ++i)
        EXPECT_TRUE(near(end[i], kept.at("parameters").at(i), tolerance)) << name << " matrix " << i;
    }
}

TEST(GoldenMuon, IsAsFarFromTorchsOwnAsHalfPrecisionIs) {
  const json golden = test::read_golden("muon.json");
  for (const auto& [name, kept] : golden.at("cases").items()) {
    const std::vector<Tensor> end = trained(golden, options_of(name), DType::f32, 1);
    for (std::size_t i = 0; i < end.size(); ++i)
      EXPECT_TRUE(near(end[i], kept.at("first_in_bf16").at(i), 3e-3)) << name << " matrix " << i;
  }
}

// ------------------------------------------------------------------ whose parameter is whose

NamedTensors network() {
  return {{"0.weight", leaf({8, 2})}, {"0.bias", leaf({8})},      {"1.weight", leaf({8, 8})},
          {"1.bias", leaf({8})},      {"2.weight", leaf({6, 8})}, {"head.weight", leaf({3, 6})}};
}

TEST(HiddenMatrices, AreNeitherTheFirstNorTheLastNorAnyBias) {
  std::vector<std::string> names;
  for (const NamedTensor& p : hidden_matrices(network())) names.push_back(p.name);
  EXPECT_THAT(names, ElementsAre("1.weight", "2.weight"));
  EXPECT_TRUE(hidden_matrices({{"in", leaf({4, 2})}, {"out", leaf({1, 4})}}).empty());
  EXPECT_TRUE(hidden_matrices({}).empty());
}

// One gradient everywhere: Adam's first step is its rate for each number, Muon's of a matrix of rank 1 is
// not.
TEST(Muon, LeavesWhatIsNoHiddenMatrixToAdam) {
  const NamedTensors p = network();
  Muon muon(p, {.lr = 0.5, .weight_decay = 0}, {.lr = 0.25});
  for (const NamedTensor& each : p) Tensor(each.tensor).set_grad(full(each.tensor.shape(), 0.125));
  muon.step();
  for (const auto& [name, tensor] : p) {
    const bool hidden = name == "1.weight" || name == "2.weight";
    EXPECT_EQ(std::abs(values(tensor)[0] - 0.75f) < 1e-6f, !hidden) << name;
  }
  EXPECT_EQ(muon.lr(), 0.5);
  muon.set_lr(0.1);
  EXPECT_DOUBLE_EQ(muon.group_lr(1), 0.05);  // in proportion
}

TEST(Muon, IsAdamForANetworkWithoutHiddenMatrices) {
  const NamedTensors a{{"w", leaf({4, 2})}, {"b", leaf({4})}}, b{{"w", leaf({4, 2})}, {"b", leaf({4})}};
  Muon muon(a, {}, {.lr = 0.1, .beta2 = 0.99});
  Adam adam(b, {.lr = 0.1, .beta2 = 0.99});
  for (int i = 0; i < 5; ++i)
    for (const auto& [p, optimizer] : {std::pair<const NamedTensors&, Optimizer&>{a, muon}, {b, adam}}) {
      optimizer.zero_grad();
      (sum(square(square(p[0].tensor) - 2.0)) + sum(exp(p[1].tensor))).backward();
      optimizer.step();
    }
  EXPECT_EQ(values(a[0].tensor), values(b[0].tensor));
  EXPECT_EQ(values(a[1].tensor), values(b[1].tensor));
}

TEST(Muon, TakesGroupsWithOptionsOfTheirOwn) {
  const Tensor fast = leaf({4, 4}), slow = leaf({4, 4}), table = leaf({32});
  Muon muon({{{{"fast", fast}}, {.lr = 0.2, .weight_decay = 0}},
             {{{"slow", slow}}, {.lr = 0.1, .weight_decay = 0}}},
            {{{{"table", table}}, {.lr = 0.5, .lazy = true}}});
  (sum(fast) + sum(slow) + sum(slice(table, 0, 0, 3))).backward();
  muon.step();
  EXPECT_NEAR((values(fast)[5] - 1) / (values(slow)[5] - 1), 2, 1e-5);
  EXPECT_NEAR(values(table)[2], 0.5, 1e-6);
  EXPECT_EQ(values(table)[3], 1);
}

// ------------------------------------------------------------------ the step

// Singular values from 1 down to a hundredth, all steps of the polynomial: U V^T within what it promises.
TEST(Muon, BringsAllSingularValuesNearOne) {
  Rng rng(3);
  const Tensor w = zeros({6, 9}).set_requires_grad();
  const Tensor u = randn({6, 9}, rng);
  Muon muon({{{{"w", w}}, {.lr = 1, .momentum = 0, .weight_decay = 0}}});
  Tensor(w).set_grad(u);
  muon.step();
  const Tensor step = to(w.detach(), DType::f64), gram = matmul(step, transpose(step));
  // The trace is the sum of the squared singular values, that of the square the sum of the fourth powers.
  EXPECT_NEAR(sum(step * step).item() / 6, 1, 0.35);
  EXPECT_NEAR(sum(gram * gram).item() / 6, 1, 0.6);
  EXPECT_LT(sum(w * u).item(), 0);  // downhill
}

TEST(Muon, MovesAlongTheSameDirectionWhateverTheSizeOfTheGradient) {
  Rng rng(3);
  const Tensor u = randn({5, 4}, rng);
  std::vector<std::vector<float>> ends;
  for (const double size : {1.0, 0x1p-60, 0x1p60}) {  // squares beyond f32's range
    Tensor w = zeros({5, 4}).set_requires_grad();
    Muon muon({{{{"w", w}}, {.lr = 1, .momentum = 0}}});
    w.set_grad(u * size);
    muon.step();
    ends.push_back(values(w));
  }
  EXPECT_EQ(ends[2], ends[0]);
  for (const float v : ends[1]) EXPECT_NEAR(v, 0, 1e-7);  // a norm below 1e-7 counts as none, as torch's
}

TEST(Muon, StaysWithoutGradientsAndShowsANan) {
  Tensor w = leaf({3, 3}), still = leaf({3, 3});
  Muon muon({{{{"w", w}, {"still", still}}, {.weight_decay = 0}}});
  w.set_grad(zeros({3, 3}));
  muon.step();
  EXPECT_EQ(values(w), std::vector<float>(9, 1));
  w.set_grad(full({3, 3}, std::numeric_limits<double>::quiet_NaN()));
  muon.step();
  EXPECT_EQ(muon.first_bad_parameter(), "w");
  EXPECT_EQ(values(still), std::vector<float>(9, 1));
}

TEST(Muon, TakesMatricesWithoutNumbers) {
  const Tensor none = leaf({0, 3}), one = leaf({1, 1});
  Muon muon({{{{"none", none}, {"one", one}}, {.lr = 0.5, .weight_decay = 0}}});
  (sum(none) + sum(one)).backward();
  muon.step();
  EXPECT_LT(values(one)[0], 0.8f);
}

// ------------------------------------------------------------------ plans, memory, state

struct Training {
  Rng rng{4};
  Tensor x = randn({16, 3}, rng), y = randn({16, 2}, rng);
  nn::Sequential model{nn::Linear(3, 8, rng), nn::Tanh(), nn::Linear(8, 6, rng), nn::Tanh(),
                       nn::Linear(6, 2, rng)};
  Muon muon{model.named_parameters(), {.lr = 0.02}, {.lr = 0.01}};
  void step() {
    const Tensor loss = mse_loss(model(x), y);
    muon.zero_grad();
    loss.backward();
    muon.step();
  }
  std::vector<std::vector<float>> weights() const {
    std::vector<std::vector<float>> out;
    for (const NamedTensor& p : model.named_parameters()) out.push_back(values(p.tensor));
    return out;
  }
};

TEST(Muon, ReplaysInAPlanWithTheSameBits) {
  Training eager, planned;
  Plan plan([&] { planned.step(); });
  for (int i = 0; i < 10; ++i) {
    for (Training* each : {&eager, &planned}) each->muon.set_lr(0.02 / (i + 1));
    eager.step();
    plan.replay();
  }
  EXPECT_EQ(planned.muon.steps(), 10);
  EXPECT_EQ(planned.weights(), eager.weights());
}

TEST(Muon, ResumesWithTheSameBits) {
  Training whole, resumed;
  for (int i = 0; i < 5; ++i) whole.step();
  const NamedTensors state = copy_of(whole.muon.state_dict()),
                     weights = copy_of(whole.model.named_parameters());
  const NamedTensors own = resumed.model.named_parameters();
  for (std::size_t i = 0; i < own.size(); ++i) Tensor(own[i].tensor).detach().assign(weights[i].tensor);
  resumed.muon.load_state_dict(state);
  for (Training* each : {&whole, &resumed})
    for (int i = 0; i < 7; ++i) each->step();
  EXPECT_EQ(resumed.weights(), whole.weights());
  EXPECT_EQ(resumed.muon.steps(), 12);
}

TEST(Muon, LearnsASmallFit) {
  Training training;
  const double before = mse_loss(training.model(training.x), training.y).item();
  for (int i = 0; i < 60; ++i) training.step();
  EXPECT_LT(mse_loss(training.model(training.x), training.y).item(), before / 2);
}

// ------------------------------------------------------------------ options

TEST(MuonOptions, OutOfRangeAreConfigErrors) {
  const NamedTensors p = network();
  EXPECT_THROW(Muon(p, {.lr = -1}), ConfigError);
  EXPECT_THROW(Muon(p, {.momentum = 1}), ConfigError);
  EXPECT_THROW(Muon(p, {.weight_decay = -0.1}), ConfigError);
  EXPECT_THROW(Muon(p, {.ns_steps = 0}), ConfigError);
  EXPECT_THROW(Muon(p, {.ns_steps = 100}), ConfigError);
  EXPECT_THROW(Muon(p, {.lr = std::numeric_limits<double>::quiet_NaN()}), ConfigError);
  EXPECT_THROW(Muon(p, {}, {.beta1 = 1}), ConfigError);
  EXPECT_THROW(Muon(p, {.clip = {.norm = 1}}, {.clip = {.norm = 2}}), ConfigError);
  EXPECT_THROW(Muon(NamedTensors{}), ConfigError);
  EXPECT_THROW(Muon(Matrices{}), ConfigError);
  EXPECT_THAT(test::error_of([&] {
                Muon(Matrices{{{{"0.bias", leaf({8})}}, {}}});
              }),
              HasSubstr("Muon cannot turn parameter 0.bias of shape [8]"));
}

}  // namespace
}  // namespace veldt::optim
