// Convolutional layers against PyTorch (tests/golden/convolution.json), and what they are called and refuse.
#include "veldt/nn/convolution.h"

#include <gmock/gmock.h>

#include "tests/golden/nn_and_optim.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/graph.h"

namespace veldt::nn {
namespace {

using nlohmann::json;
using test::error_of;
using testing::HasSubstr;

Tensor random(const Shape& shape) {
  Rng rng(7);
  return rand(shape, rng, -1, 1);
}

PerDim numbers(const json& list) {
  return PerDim(Shape(std::span<const std::int64_t>(list.get<std::vector<std::int64_t>>())));
}

PadMode pad_mode(const std::string& name) {
  if (name == "reflect") return PadMode::reflect;
  if (name == "replicate") return PadMode::replicate;
  return name == "circular" ? PadMode::circular : PadMode::zeros;
}

template <int kDims> std::unique_ptr<Module> layer_of(const json& g) {
  const json& o = g.at("options");
  const auto in = g.at("in").get<std::int64_t>(), out = g.at("out").get<std::int64_t>();
  const auto groups = o.at("groups").get<std::int64_t>();
  const bool bias = o.at("bias").get<bool>();
  if (g.at("layer").get<std::string>().starts_with("ConvTranspose"))
    return std::make_unique<ConvTranspose<kDims>>(
        in, out, numbers(g.at("kernel")),
        ConvTransposeLayerOptions{.stride = numbers(o.at("stride")),
                                  .padding = numbers(o.at("padding")),
                                  .output_padding = numbers(o.at("output_padding")),
                                  .dilation = numbers(o.at("dilation")),
                                  .groups = groups,
                                  .bias = bias});
  const json& padding = o.at("padding");
  return std::make_unique<Conv<kDims>>(
      in, out, numbers(g.at("kernel")),
      ConvLayerOptions{.stride = numbers(o.at("stride")),
                       .padding = padding.is_string() ? ConvPadding(padding.get<std::string>())
                                                      : ConvPadding(numbers(padding)),
                       .dilation = numbers(o.at("dilation")),
                       .groups = groups,
                       .padding_mode = pad_mode(o.at("padding_mode")),
                       .bias = bias});
}

std::unique_ptr<Module> any_layer_of(const json& g) {
  const std::string name = g.at("layer");
  if (name.find("1d") != std::string::npos) return layer_of<1>(g);
  return name.find("2d") != std::string::npos ? layer_of<2>(g) : layer_of<3>(g);
}

class GoldenConvolution : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, GoldenConvolution, testing::Values(DType::f32, DType::f64),
                         [](const auto& at) { return std::string(veldt::name_of(at.param)); });

TEST_P(GoldenConvolution, OutputAndGradientsAreTorchs) {
  const double tolerance = 4 * test::tolerance_of(GetParam());
  const json cases = test::read_golden("convolution.json").at("cases");
  ASSERT_GE(cases.size(), 14u);
  for (const json& g : cases) {
    const std::unique_ptr<Module> layer = any_layer_of(g);
    layer->to(GetParam());
    NamedTensors state;
    for (const auto& [name, values] : g.at("state").items()) state.push_back({name, test::tensor_of(values)});
    layer->load_state_dict(state);
    const Tensor x = test::tensor_of(g.at("x"), GetParam()).set_requires_grad();
    const Tensor y = (*layer)(x);
    EXPECT_TRUE(test::near(y, g.at("output"), tolerance)) << layer->title();
    std::vector<double> weights(static_cast<std::size_t>(y.numel()));
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.5 + 0.1 * static_cast<double>(i % 7);
    sum(y * veldt::to(Tensor::from<double>(y.shape(), weights), GetParam())).backward();
    const json& gradients = g.at("gradients");
    EXPECT_TRUE(test::near(x.grad(), gradients.at("x"), tolerance)) << layer->title();
    for (const auto& [name, tensor] : layer->named_parameters())
      EXPECT_TRUE(test::near(tensor.grad(), gradients.at(name), 4 * tolerance))
          << layer->title() << ' ' << name;
  }
}

TEST(Conv, NamesItsOptionsWhereTheyAreNotTheDefault) {
  EXPECT_EQ(Conv1d(2, 3, 4).title(), "Conv1d(2, 3, 4)");
  EXPECT_EQ(Conv2d(4, 6, {3, 5}, {.stride = 2, .padding = {1, 2}, .groups = 2}).title(),
            "Conv2d(4, 6, [3, 5], stride 2, padding [1, 2], groups 2)");
  EXPECT_EQ(Conv2d(4, 6, 3, {.padding = {PerDim(0), PerDim(1)}}).title(),
            "Conv2d(4, 6, 3, padding 0 before and 1 after)");
  EXPECT_EQ(Conv3d(1, 2, 3, {.padding = "same", .padding_mode = PadMode::circular, .bias = false}).title(),
            "Conv3d(1, 2, 3, padding same, circular, no bias)");
  EXPECT_EQ(ConvTranspose2d(2, 4, 3, {.stride = 2, .output_padding = 1, .dilation = 3, .groups = 2}).title(),
            "ConvTranspose2d(2, 4, 3, stride 2, output padding 1, dilation 3, groups 2)");
}

TEST(Conv, StartsWithinTheBoundOfItsFan) {
  Rng rng(3);
  const Conv2d layer(8, 32, 5, {.groups = 2}, rng);
  const double bound = 1 / std::sqrt(4.0 * 25);
  EXPECT_NEAR(max(layer.weight()).item(), bound, bound / 100);
  EXPECT_NEAR(min(layer.weight()).item(), -bound, bound / 100);
  EXPECT_NEAR(max(layer.bias()).item(), bound, bound / 4);
  EXPECT_LE(max(layer.bias()).item(), bound);
  EXPECT_EQ(rng.position(), 32u * 4 * 25 + 32);
  const ConvTranspose1d turned(6, 40, 3, rng);
  EXPECT_NEAR(max(turned.weight()).item(), 1 / std::sqrt(120.0), 0.01);
  EXPECT_EQ(turned.bias().shape(), Shape{40});
}

TEST(Conv, CountsTheOperationsOfItsProducts) {
  // 2 * 6 * 28 * 28 * 25 for an example; the transpose spreads each of its inputs over as many products.
  EXPECT_EQ(Conv2d(1, 6, 5).flops({1, 1, 32, 32}, {1, 6, 28, 28}), 2.0 * 6 * 28 * 28 * 25);
  EXPECT_EQ(ConvTranspose2d(6, 2, 5).flops({1, 6, 28, 28}, {1, 2, 32, 32}), 2.0 * 6 * 28 * 28 * 25 * 2);
}

TEST(Conv, TakesAnExampleWithoutABatch) {
  const Conv2d layer(2, 3, 3, {.padding = 1});
  const Tensor x = random({2, 5, 4});
  const Tensor alone = layer(x), batch = layer(unsqueeze(x, 0));
  EXPECT_EQ(alone.shape(), (Shape{3, 5, 4}));
  EXPECT_EQ(alone.values<float>(), batch.values<float>());
}

TEST(Conv, RefusesWhatItCannotBuild) {
  EXPECT_THROW(Conv2d(0, 6, 3), ConfigError);
  EXPECT_THROW(Conv2d(3, 6, 0), ConfigError);
  EXPECT_THAT(error_of<ConfigError>([] { Conv2d(3, 6, 3, {.groups = 2}); }), HasSubstr("Conv2d(3, 6, 3)"));
  EXPECT_THAT(error_of<ConfigError>([] { Conv2d(3, 6, {3, 3, 3}); }), HasSubstr("[3, 3, 3]"));
  EXPECT_THAT(error_of<ConfigError>([] { Conv2d(3, 6, 3, {.padding = "full"}); }), HasSubstr("\"full\""));
}

}  // namespace
}  // namespace veldt::nn
