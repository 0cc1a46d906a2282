// Normalising layers against PyTorch (tests/golden/norm.json), and what they keep, refuse and are called.
#include "veldt/nn/norm.h"

#include <gmock/gmock.h>

#include "tests/golden/nn_and_optim.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/derivatives.h"
#include "veldt/ops/norm.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/plan.h"

namespace veldt::nn {
namespace {

using nlohmann::json;
using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

Tensor random(const Shape& shape, DType dtype = DType::f32) {
  Rng rng(7);
  return rand(shape, rng, -1, 3, dtype);
}

std::optional<double> number(const json& value) {
  return value.is_null() ? std::optional<double>() : value.get<double>();
}

template <int kDims> std::unique_ptr<Module> channel_layer_of(const std::string& name, const json& o) {
  const std::int64_t channels = o.at("num_features");
  if (name.starts_with("Batch"))
    return std::make_unique<BatchNorm<kDims>>(
        channels, BatchNormOptions{.eps = o.at("eps"),
                                   .momentum = number(o.at("momentum")),
                                   .affine = o.at("affine"),
                                   .track_running_stats = o.at("track_running_stats")});
  return std::make_unique<InstanceNorm<kDims>>(
      channels, InstanceNormOptions{.eps = o.at("eps"),
                                    .momentum = o.at("momentum"),
                                    .affine = o.at("affine"),
                                    .track_running_stats = o.at("track_running_stats")});
}

std::unique_ptr<Module> layer_of(const json& g) {
  const std::string name = g.at("layer");
  const json& o = g.at("options");
  if (name.ends_with("1d")) return channel_layer_of<1>(name, o);
  if (name.ends_with("2d")) return channel_layer_of<2>(name, o);
  if (name.ends_with("3d")) return channel_layer_of<3>(name, o);
  if (name == "GroupNorm")
    return std::make_unique<GroupNorm>(o.at("num_groups").get<std::int64_t>(),
                                       o.at("num_channels").get<std::int64_t>(),
                                       GroupNormOptions{.eps = o.at("eps"), .affine = o.at("affine")});
  const Shape shape(std::span<const std::int64_t>(o.at("normalized_shape").get<std::vector<std::int64_t>>()));
  if (name == "LayerNorm")
    return std::make_unique<LayerNorm>(
        shape,
        LayerNormOptions{
            .eps = o.at("eps"), .elementwise_affine = o.at("elementwise_affine"), .bias = o.at("bias")});
  return std::make_unique<RMSNorm>(
      shape, RMSNormOptions{.eps = number(o.at("eps")), .elementwise_affine = o.at("elementwise_affine")});
}

class GoldenNorm : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, GoldenNorm, testing::Values(DType::f32, DType::f64),
                         [](const auto& at) { return std::string(veldt::name_of(at.param)); });

TEST_P(GoldenNorm, OutputGradientsAndStatisticsAreTorchs) {
  const double tolerance = 8 * test::tolerance_of(GetParam());
  const json cases = test::read_golden("norm.json").at("cases");
  ASSERT_GE(cases.size(), 20u);
  for (const json& g : cases) {
    const std::unique_ptr<Module> layer = layer_of(g);
    layer->to(GetParam()).train(!g.at("evaluate").get<bool>());
    NamedTensors state;
    for (const auto& [name, values] : g.at("before").items())
      state.push_back({name, test::tensor_of(values)});
    layer->load_state_dict(state);
    const Tensor x = test::tensor_of(g.at("x"), GetParam()).set_requires_grad();
    const Tensor y = (*layer)(x);
    EXPECT_TRUE(test::near(y, g.at("output"), tolerance)) << layer->title();
    for (const auto& [name, tensor] : layer->state_dict())
      EXPECT_TRUE(test::near(tensor, g.at("after").at(name), tolerance)) << layer->title() << ' ' << name;
    std::vector<double> weights(static_cast<std::size_t>(y.numel()));
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.5 + 0.1 * static_cast<double>(i % 7);
    sum(y * veldt::to(Tensor::from<double>(y.shape(), weights), GetParam())).backward();
    const json& gradients = g.at("gradients");
    EXPECT_TRUE(test::near(x.grad(), gradients.at("x"), 4 * tolerance)) << layer->title();
    for (const auto& [name, tensor] : layer->named_parameters())
      EXPECT_TRUE(test::near(tensor.grad(), gradients.at(name), 4 * tolerance))
          << layer->title() << ' ' << name;
  }
}

TEST(Norm, IsDifferentiableTwice) {
  const BatchNorm2d batch(2, {.dtype = DType::f64});
  const InstanceNorm1d instance(2, {.affine = true, .dtype = DType::f64});
  const Tensor x = random({3, 2, 2, 2}, DType::f64).set_requires_grad();
  EXPECT_TRUE(gradgradcheck([&](const TensorList& in) { return batch(in[0]); }, {x}));
  const Tensor line = random({2, 2, 4}, DType::f64).set_requires_grad();
  EXPECT_TRUE(gradgradcheck([&](const TensorList& in) { return instance(in[0]); }, {line}));
}

TEST(Norm, NamesItsOptionsWhereTheyAreNotTheDefault) {
  EXPECT_EQ(BatchNorm1d(3).title(), "BatchNorm1d(3)");
  EXPECT_EQ(BatchNorm2d(3, {.eps = 0.001, .momentum = 0.5, .affine = false}).title(),
            "BatchNorm2d(3, eps 0.001, momentum 0.5, not affine)");
  EXPECT_EQ(BatchNorm3d(3, {.momentum = {}}).title(), "BatchNorm3d(3, mean of all batches)");
  EXPECT_EQ(BatchNorm1d(3, {.track_running_stats = false}).title(), "BatchNorm1d(3, no running statistics)");
  EXPECT_EQ(InstanceNorm2d(4).title(), "InstanceNorm2d(4)");
  EXPECT_EQ(InstanceNorm2d(4, {.affine = true, .track_running_stats = true}).title(),
            "InstanceNorm2d(4, affine, running statistics)");
  EXPECT_EQ(LayerNorm(5).title(), "LayerNorm(5)");
  EXPECT_EQ(LayerNorm({4, 5}, {.bias = false}).title(), "LayerNorm([4, 5], no bias)");
  EXPECT_EQ(LayerNorm(5, {.elementwise_affine = false}).title(), "LayerNorm(5, not affine)");
  EXPECT_EQ(GroupNorm(2, 4, {.eps = 0.1}).title(), "GroupNorm(2, 4, eps 0.1)");
  EXPECT_EQ(RMSNorm(8, {.eps = 0.1}).title(), "RMSNorm(8, eps 0.1)");
}

TEST(Norm, HasTorchsParametersAndBuffers) {
  const auto names = [](const NamedTensors& list) {
    std::vector<std::string> out;
    for (const auto& [name, tensor] : list) out.push_back(name);
    return out;
  };
  const BatchNorm1d batch(2);
  EXPECT_THAT(names(batch.state_dict()),
              ElementsAre("weight", "bias", "running_mean", "running_var", "num_batches_tracked"));
  EXPECT_THAT(names(batch.named_parameters()), ElementsAre("weight", "bias"));
  EXPECT_EQ(batch.state_dict()[4].tensor.dtype(), DType::i64);
  EXPECT_THAT(names(InstanceNorm1d(2).state_dict()), ElementsAre());
  EXPECT_THAT(batch.weight().values<float>(), ElementsAre(1, 1));
  EXPECT_THAT(batch.running_var().values<float>(), ElementsAre(1, 1));
  EXPECT_THAT(batch.running_mean().values<float>(), ElementsAre(0, 0));
}

TEST(BatchNorm, KeepsItsStatisticsInEvaluation) {
  BatchNorm1d layer(3);
  layer(random({5, 3}));
  const std::vector<float> kept = layer.running_mean().values<float>();
  layer.eval();
  layer(random({5, 3}) * 2);
  EXPECT_EQ(layer.running_mean().values<float>(), kept);
  EXPECT_EQ(layer.state_dict()[4].tensor.item(), 1);
  EXPECT_EQ(layer(random({1, 3})).shape(), (Shape{1, 3}));
}

TEST(BatchNorm, CountsBatchesInReplaysOfAPlan) {
  for (const std::optional<double> momentum : {std::optional<double>(0.1), std::optional<double>()}) {
    const BatchNorm1d layer(3, {.momentum = momentum}), planned(3, {.momentum = momentum});
    const Tensor x = random({5, 3});
    const auto step = [&x](const BatchNorm1d& norm) {
      for (const Tensor& p : norm.parameters()) Tensor(p).zero_grad();
      const Tensor y = norm(x);
      sum(square(y - 1)).backward();
      return y;
    };
    Plan plan([&] { return step(planned); });
    EXPECT_THAT(planned.running_mean().values<float>(), ElementsAre(0, 0, 0));
    for (int i = 0; i < 3; ++i) {
      x.detach().assign(x + 1);
      plan.replay();
      EXPECT_EQ(plan.output().values<float>(), step(layer).values<float>());
    }
    EXPECT_EQ(planned.state_dict()[4].tensor.item(), 3);
    EXPECT_EQ(planned.running_mean().values<float>(), layer.running_mean().values<float>());
    EXPECT_EQ(planned.running_var().values<float>(), layer.running_var().values<float>());
    EXPECT_EQ(planned.weight().grad().values<float>(), layer.weight().grad().values<float>());
  }
}

TEST(BatchNorm, OfACloneHasStatisticsOfItsOwn) {
  const Sequential model(Linear(2, 3), BatchNorm1d(3));
  const Sequential copy = clone(model);
  model(random({4, 2}));
  EXPECT_EQ(copy.state_dict()[4].name, "1.running_mean");
  EXPECT_THAT(copy.state_dict()[4].tensor.values<float>(), ElementsAre(0, 0, 0));
}

TEST(Norm, ComputesHalvesInF32) {
  // Squares and sums of these do not fit f16.
  const Tensor x = veldt::to(random({4, 2, 50}) * 300 + 500, DType::f16);
  const auto near = [](const Tensor& half, const Tensor& single) {
    EXPECT_EQ(half.dtype(), DType::f16);
    EXPECT_LE(max(abs(veldt::to(half, DType::f32) - single)).item(), 2e-3);
  };
  const Tensor wide = veldt::to(x, DType::f32);
  near(BatchNorm1d(2, {.dtype = DType::f16})(x), BatchNorm1d(2)(wide));
  near(InstanceNorm1d(2)(x), InstanceNorm1d(2)(wide));
  near(LayerNorm(50, {.dtype = DType::f16})(x), LayerNorm(50)(wide));
  near(GroupNorm(1, 2, {.dtype = DType::f16})(x), GroupNorm(1, 2)(wide));
  near(RMSNorm(50, {.dtype = DType::f16})(x), RMSNorm(50)(wide));
}

// y, the gradients by x, weight and bias, and the running statistics of a layer whose numbers are halves.
TensorList batch_norm_of(DType halves, DType dtype, bool training, bool create_graph) {
  const auto number = [&](const Shape& shape, double scale, double shift, std::uint64_t seed) {
    Rng rng(seed);
    return veldt::to(veldt::to(randn(shape, rng) * scale + shift, halves), dtype);
  };
  BatchNorm2d layer(5, {.dtype = dtype});
  layer.load_state_dict({{"weight", number({5}, 0.3, 1, 1)},
                         {"bias", number({5}, 1, 0, 2)},
                         {"running_mean", number({5}, 1, 20, 3)},
                         {"running_var", number({5}, 0.3, 4, 4)},
                         {"num_batches_tracked", zeros({}, DType::i64)}});
  layer.train(training);
  const Tensor x = number({7, 5, 6, 40}, 2, 20, 5).set_requires_grad();
  const Tensor y = layer(x);
  TensorList all = grad(y, {x, layer.weight(), layer.bias()}, create_graph, number({7, 5, 6, 40}, 1, 0.5, 6));
  all.insert(all.end(), {y, layer.running_mean(), layer.running_var()});
  return all;
}

TEST(BatchNorm, OfHalvesIsThatOfDoublesRounded) {
  for (const DType dtype : {DType::bf16, DType::f16})
    for (const bool training : {true, false})
      for (const bool create_graph : {false, true}) {
        const TensorList halves = batch_norm_of(dtype, dtype, training, create_graph),
                         expected = batch_norm_of(dtype, DType::f64, training, create_graph);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(halves[i].dtype(), dtype);
          const Tensor wanted = expected[i].detach();
          EXPECT_LE(max(abs(veldt::to(halves[i].detach(), DType::f64) - wanted)).item(),
                    (dtype == DType::bf16 ? 0x1p-8 : 0x1p-11) * max(abs(wanted)).item())
              << dtype << (training ? ", training" : "") << (create_graph ? ", again" : "") << ", " << i;
        }
      }
}

TEST(BatchNorm, OfEqualHalvesHasNoVariance) {
  const BatchNorm1d layer(1, {.dtype = DType::f16});
  EXPECT_EQ(max(abs(layer(full({1000, 1}, 0.1, DType::f16)))).item(), 0);
  BatchNorm1d moved(1, {.dtype = DType::f16});
  moved.load_state_dict({{"bias", full({1}, 0.125, DType::f16)}}, false);
  for (const double number : {1000.0, 30000.0})
    EXPECT_EQ(max(abs(moved(full({8, 1}, number, DType::f16)) - 0.125)).item(), 0) << number;
}

// The rounding of large squares is no variance either, and a small variance beside them is no rounding.
TEST(BatchNorm, OfLargeHalvesKnowsNoVarianceFromALittle) {
  for (const auto& [n, number] : {std::pair{7, 1e6}, std::pair{13, 3.3e7}, std::pair{1000, 3.3e7}}) {
    const BatchNorm1d layer(1, {.dtype = DType::bf16});
    Rng rng(1);
    const Tensor x = full({n, 1}, number, DType::bf16).set_requires_grad();
    const Tensor by = veldt::to(randn({n, 1}, rng), DType::bf16);
    const Tensor once = grad(layer(x), {x}, false, by)[0], again = grad(layer(x), {x}, true, by)[0].detach();
    EXPECT_LE(max(abs(once - again)).item(), 0.01 * max(abs(again)).item()) << n << " times " << number;
    EXPECT_NEAR(layer.running_var().item(), 0.81, 0.005) << n << " times " << number;
  }
  const std::int64_t n = 1 << 16;
  const Tensor x = full({n, 1}, 30000, DType::f16);
  narrow(x, 0, 5, 1).assign(full({1, 1}, 30016, DType::f16));
  EXPECT_NEAR(batch_norm(x, {}, {}, 1e-5).variance.item() * n / 256, 1, 1e-3);
}

TEST(Norm, RefusesWhatItCannotBuild) {
  EXPECT_THAT(error_of<ConfigError>([] { BatchNorm2d(0); }), HasSubstr("BatchNorm2d(0)"));
  EXPECT_THROW(BatchNorm2d(3, {.eps = -1}), ConfigError);
  EXPECT_THROW(BatchNorm2d(3, {.momentum = 1.5}), ConfigError);
  EXPECT_THROW(LayerNorm(Shape{}), ConfigError);
  EXPECT_THROW(RMSNorm({3, 0}), ConfigError);
  EXPECT_THAT(error_of<ConfigError>([] { GroupNorm(2, 3); }), HasSubstr("2 groups do not divide 3"));
}

TEST(Norm, RefusesWhatItCannotTake) {
  EXPECT_THAT(error_of<ShapeError>([] { BatchNorm2d(3)(ones({2, 4, 5, 5})); }), HasSubstr("[2, 4, 5, 5]"));
  EXPECT_THROW(BatchNorm2d(3)(ones({3, 5, 5})), ShapeError);
  EXPECT_THROW(BatchNorm1d(3)(ones({3})), ShapeError);
  EXPECT_THAT(error_of<ShapeError>([] { BatchNorm1d(3)(ones({1, 3})); }), HasSubstr("one number of each"));
  EXPECT_THROW(InstanceNorm1d(3)(ones({2, 3, 1})), ShapeError);
  // The mean of no examples would be a NaN that the running statistics keep.
  EXPECT_THROW(InstanceNorm1d(3, {.track_running_stats = true})(ones({0, 3, 2})), ShapeError);
  EXPECT_THROW(BatchNorm1d(3)(ones({0, 3})), ShapeError);
  EXPECT_THROW(BatchNorm1d(3)(ones({2, 3}, DType::f64)), ShapeError);
  EXPECT_THROW(InstanceNorm1d(3)(ones({2, 3, 4}, DType::i64)), ShapeError);
  EXPECT_THAT(error_of<ShapeError>([] { LayerNorm({4, 5})(ones({2, 5})); }), HasSubstr("[4, 5]"));
  EXPECT_THAT(error_of<ShapeError>([] { GroupNorm(2, 4)(ones({2, 6})); }), HasSubstr("[2, 6]"));
  EXPECT_THROW(rms_norm(ones({2, 5}), {}), ShapeError);
  EXPECT_THROW(rms_norm(ones({2, 5}), {5}, ones({4})), ShapeError);
  EXPECT_THROW(layer_norm(ones({2, 5}), {5}, {}, {}, -1), ConfigError);
}

// Files that PyTorch wrote before 0.4.1.
TEST(BatchNorm, AStateWithoutTheCountOfStepsFits) {
  BatchNorm2d layer(2);
  const LoadReport report = layer.load_state_dict(
      {{"weight", ones({2})}, {"bias", ones({2})}, {"running_mean", ones({2})}, {"running_var", ones({2})}});
  EXPECT_TRUE(report.complete());
  EXPECT_THROW(layer.load_state_dict({{"weight", ones({2})}, {"bias", ones({2})}}), Error);
}

}  // namespace
}  // namespace veldt::nn
