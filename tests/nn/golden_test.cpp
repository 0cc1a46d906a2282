// Layers, losses and initialisers against PyTorch; the numbers are in tests/golden/nn.json.
#include "tests/golden/nn_and_optim.h"

#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using nlohmann::json;
using test::near;
using test::tensor_of;
using test::tolerance_of;

const json& golden() {
  static const json all = test::read_golden("nn.json");
  return all;
}

nn::Sequential golden_mlp(DType dtype) {
  nn::Sequential model(nn::Linear(3, 5), nn::Tanh(), nn::Linear(5, 4), nn::Softplus(), nn::Linear(4, 2));
  model.to(dtype);
  NamedTensors state;
  for (const auto& [name, values] : golden().at("mlp").at("parameters").items())
    state.push_back({name, tensor_of(values)});
  model.load_state_dict(state);
  return model;
}

class GoldenMlp : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, GoldenMlp, testing::Values(DType::f32, DType::f64),
                         [](const auto& at) { return std::string(name_of(at.param)); });

TEST_P(GoldenMlp, ForwardIsTorchs) {
  const json& g = golden().at("mlp");
  const Tensor out = golden_mlp(GetParam())(tensor_of(g.at("x"), GetParam()));
  EXPECT_TRUE(near(out, g.at("output"), tolerance_of(GetParam())));
}

TEST_P(GoldenMlp, GradientsAreTorchs) {
  const json& g = golden().at("mlp");
  const Tensor x = tensor_of(g.at("x"), GetParam()), y = tensor_of(g.at("y"), GetParam());
  for (const char* name : {"mse", "bce"}) {
    const nn::Sequential model = golden_mlp(GetParam());
    const Tensor out = model(x);
    const Tensor loss =
        std::string(name) == "mse" ? mse_loss(out, y) : binary_cross_entropy_with_logits(out, y);
    EXPECT_NEAR(loss.item(), g.at(name).at("loss").get<double>(), tolerance_of(GetParam())) << name;
    loss.backward();
    for (const auto& [parameter, tensor] : model.named_parameters())
      EXPECT_TRUE(near(tensor.grad(), g.at(name).at("gradients").at(parameter), tolerance_of(GetParam())))
          << name << ' ' << parameter;
  }
}

class GoldenLosses : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, GoldenLosses, testing::Values(DType::f32, DType::f64),
                         [](const auto& at) { return std::string(name_of(at.param)); });

TEST_P(GoldenLosses, ValuesAndGradientsAreTorchs) {
  const std::pair<const char*, Tensor (*)(const Tensor&, const Tensor&)> losses[] = {
      {"mse", [](const Tensor& p, const Tensor& t) { return mse_loss(p, t); }},
      {"l1", [](const Tensor& p, const Tensor& t) { return l1_loss(p, t); }},
      {"bce_with_logits",
       [](const Tensor& p, const Tensor& t) { return binary_cross_entropy_with_logits(p, t); }},
      {"hinge_mse", [](const Tensor& p, const Tensor& t) { return hinge_mse(p, t); }}};
  for (const auto& [name, loss_of] : losses) {
    const json& g = golden().at("losses").at(name);
    Tensor prediction = tensor_of(g.at("prediction"), GetParam());
    prediction.set_requires_grad();
    const Tensor loss = loss_of(prediction, tensor_of(g.at("target"), GetParam()));
    const double expected = g.at("loss").get<double>();
    EXPECT_NEAR(loss.item(), expected, tolerance_of(GetParam()) * (1 + expected)) << name;
    loss.backward();
    EXPECT_TRUE(near(prediction.grad(), g.at("gradient"), tolerance_of(GetParam()))) << name;
  }
}

// The largest value and the standard deviation, against those of as many draws of torch's.
void expect_like(const Tensor& drawn, const char* name, double tolerance = 0.01) {
  const json& g = golden().at("init").at("initialisers").at(name);
  const double deviation = g.at("deviation").get<double>(), largest = g.at("max").get<double>();
  EXPECT_NEAR(std::sqrt(variance(drawn).item()) / deviation, 1, tolerance) << name;
  EXPECT_NEAR(mean(drawn).item() / deviation, 0, tolerance) << name;
  const bool is_normal = std::string(name).ends_with("_normal");  // its largest draw is a matter of luck
  EXPECT_NEAR(max(abs(drawn)).item() / largest, 1, is_normal ? 0.25 : 0.001) << name;
}

TEST(GoldenInit, BoundsAndDeviationsAreTorchs) {
  const auto size = golden().at("init").at("shape").get<std::vector<std::int64_t>>();
  const Tensor w = empty(Shape(size));
  Rng rng(3);
  nn::init::xavier_uniform(w, 1, rng);
  expect_like(w, "xavier_uniform");
  nn::init::xavier_normal(w, 1, rng);
  expect_like(w, "xavier_normal");
  nn::init::kaiming_uniform(w, 0, rng);
  expect_like(w, "kaiming_uniform");
  nn::init::kaiming_normal(w, 0, rng);
  expect_like(w, "kaiming_normal");
  nn::init::siren_first(w, rng);
  expect_like(w, "siren_first");
  nn::init::siren_hidden(w, golden().at("init").at("omega").get<double>(), rng);
  expect_like(w, "siren_hidden");
}

TEST(GoldenInit, LinearStartsAsTorchs) {
  const auto size = golden().at("init").at("shape").get<std::vector<std::int64_t>>();
  Rng rng(4);
  expect_like(nn::Linear(size[1], size[0], rng).weight().detach(), "linear_weight");
  expect_like(nn::Linear(size[1], 8192, rng).bias().detach(), "linear_bias", 0.03);
}

struct Block : nn::Module {
  explicit Block() : norm(4, 4, {.bias = false}), scale(ones({3})) {}
  void fields(nn::Fields& f) override { f("scale", scale)("norm", norm); }
  nn::Linear norm;
  Tensor scale;
};

struct Net : nn::Module {
  void fields(nn::Fields& f) override { f("body", body)("layers", layers)("head", head); }
  nn::Sequential body{nn::Linear(2, 4), nn::Tanh(), nn::Sequential(nn::Linear(4, 4), nn::ReLU())};
  std::vector<Block> layers = std::vector<Block>(2);
  nn::Linear head{4, 1};
};

TEST(GoldenNames, AreTorchs) {
  const Net net;
  std::vector<std::string> state, parameters;
  for (const auto& [name, tensor] : net.state_dict()) state.push_back(name);
  for (const auto& [name, tensor] : net.named_parameters()) parameters.push_back(name);
  EXPECT_EQ(state, golden().at("names").at("state").get<std::vector<std::string>>());
  EXPECT_EQ(parameters, golden().at("names").at("parameters").get<std::vector<std::string>>());
}

}  // namespace
}  // namespace veldt
