// Whole channels and heads: what goes together, what stays, and that a cut network computes what the whole
// one does when nothing reads the units that are gone.
#include "veldt/compress/channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/embedding.h"
#include "veldt/nn/gated.h"
#include "veldt/nn/graph.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/recurrent.h"
#include "veldt/nn/resize.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/close.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::compress {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

nn::ConvLayerOptions padded(std::int64_t groups = 1, bool bias = true) {
  return {.padding = 1, .groups = groups, .bias = bias};
}

// Norms whose statistics are not those of a new layer.
void stir(nn::Module& net, Rng& rng) {
  for (auto& [name, tensor] : net.state_dict())
    if (tensor.rank() == 1 && is_float(tensor.dtype())) tensor.assign(rand(tensor.shape(), rng, 0.5, 1.5));
}

const ChannelGroup& group_of(const std::vector<ChannelGroup>& groups, const std::string& layer) {
  for (const ChannelGroup& group : groups)
    for (const SizedLayer& own : group.layers)
      if (own.layer == layer) return group;
  throw std::runtime_error("no group of " + layer);
}

// Cuts `options` out of the network, and compares it with the whole one whose gone units nobody reads.
std::vector<ChannelGroup> cut_and_compare(nn::Module& net, const TensorList& x, const CutOptions& options) {
  const NoGrad off;
  Rng rng(11);
  stir(net, rng);
  net.eval();
  const std::vector<ChannelGroup> groups = channel_groups(net, x);
  const Kept kept = choose(groups, net.state_dict(), options);
  NamedTensors state = net.state_dict();
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::int64_t unit = 0; unit < groups[g].size; ++unit) {
      if (std::find(kept[g].begin(), kept[g].end(), unit) != kept[g].end()) continue;
      for (const ChannelPart& part : groups[g].parts)
        for (NamedTensor& one : state)
          if (one.name == part.tensor && part.role == ChannelPart::Role::read) {
            Tensor slice = narrow(one.tensor, part.dim, part.offset + unit * part.repeat, part.repeat);
            slice.assign(zeros(slice.shape()));
          }
    }
  const Tensor whole = net(x).at(0);
  const std::int64_t before = net.parameter_count();
  cut(net, groups, kept);
  EXPECT_LT(net.parameter_count(), before);
  const Tensor smaller = net(x).at(0);
  EXPECT_TRUE(allclose(whole, smaller, 1e-4, 1e-5)) << net.description();
  return groups;
}

TEST(Channels, OfAChainOfConvolutionsGoWithTheirNormsAndReaders) {
  Rng rng(1);
  nn::Sequential net{nn::Conv2d(3, 8, 3, padded(1, false), rng),
                     nn::BatchNorm2d(8),
                     nn::ReLU(),
                     nn::MaxPool2d(2),
                     nn::Conv2d(8, 12, 3, padded(), rng),
                     nn::PReLU(12),
                     nn::Dropout(0.3),
                     nn::Flatten(),
                     nn::Linear(12 * 16, 20, rng),
                     nn::Sigmoid(),
                     nn::Linear(20, 5, rng)};
  const auto groups = cut_and_compare(net, {randn({2, 3, 8, 8}, rng)}, {.share = 0.5});
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(net.state_dict()[0].tensor.shape(), Shape({4, 3, 3, 3}));
  EXPECT_THAT(net.description(), HasSubstr("BatchNorm2d(4)"));
  EXPECT_THAT(net.description(), HasSubstr("Linear(96, 10)"));
  EXPECT_THAT(groups[3].fixed, HasSubstr("output"));
}

TEST(Channels, OfASumGoInAllItsBranches) {
  Rng rng(2);
  nn::Graph net;
  const auto stem = net.add("stem", nn::Conv2d(3, 8, 3, padded(), rng), {0});
  const auto a = net.add("a", nn::Conv2d(8, 6, 3, padded(), rng), {stem});
  const auto norm = net.add("norm", nn::BatchNorm2d(6), {a});
  const auto b = net.add("b", nn::Conv2d(6, 8, 3, padded(), rng), {norm});
  const auto sum = net.add("sum", nn::Sum(), {b, stem});
  const auto gate = net.add(
      "gate", nn::Sequential{nn::AdaptiveAvgPool2d(1), nn::Conv2d(8, 8, 1, {}, rng), nn::Sigmoid()}, {sum});
  const auto gated = net.add("gated", nn::Product(), {sum, gate});
  const auto pool = net.add("pool", nn::AdaptiveAvgPool2d(1), {gated});
  net.add("head", nn::Linear(8, 3, rng), {net.add("flat", nn::Flatten(), {pool})});
  const auto groups = cut_and_compare(net, {randn({2, 3, 6, 6}, rng)}, {.share = 0.5});
  const ChannelGroup& joint = group_of(groups, "stem");
  EXPECT_EQ(&joint, &group_of(groups, "b"));
  EXPECT_EQ(&joint, &group_of(groups, "gate.1"));
  EXPECT_NE(&joint, &group_of(groups, "a"));
  EXPECT_THAT(joint.fixed, IsEmpty());
}

TEST(Channels, OfACatKeepTheirPlaces) {
  Rng rng(3);
  nn::Graph net;
  const auto a = net.add("a", nn::Conv2d(3, 4, 3, padded(), rng), {0});
  const auto b = net.add("b", nn::Conv2d(3, 6, 3, padded(), rng), {0});
  const auto both = net.add("cat", nn::Cat(1), {a, b});
  const auto norm = net.add("norm", nn::BatchNorm2d(10), {both});
  const auto up = net.add("up", nn::ConvTranspose2d(10, 6, 2, {.stride = 2}, rng), {norm});
  net.add("out", nn::Conv2d(6, 3, 1, {}, rng), {up});
  cut_and_compare(net, {randn({1, 3, 6, 6}, rng)}, {.share = 0.5});
  EXPECT_EQ(net.state_dict().at(4).tensor.shape(), Shape({5}));
}

TEST(Channels, OfDepthwiseConvolutionsGoWithThoseBefore) {
  Rng rng(4);
  nn::Sequential net{nn::Conv2d(3, 8, 1, {}, rng), nn::Conv2d(8, 8, 3, padded(8), rng), nn::ReLU6(),
                     nn::Residual(nn::Sequential{nn::Conv2d(8, 8, 3, padded(), rng), nn::ReLU()}),
                     nn::Conv2d(8, 2, 1, {}, rng)};
  const auto groups = channel_groups(net, {randn({1, 3, 5, 5}, rng)});
  const ChannelGroup& group = group_of(groups, "1");
  EXPECT_EQ(&group, &group_of(groups, "3.body.0"));
  EXPECT_EQ(group.layers.size(), 4U);  // the first, the depthwise one's two numbers, and the one in the sum
  cut_and_compare(net, {randn({1, 3, 5, 5}, rng)}, {.share = 0.5});
  EXPECT_THAT(net.description(), HasSubstr("Conv2d(4, 4, 3, padding 1, groups 4)"));
}

TEST(Channels, OfNormsWithoutTensorsAreNotCutInTheirPlace) {
  Rng rng(4);
  nn::Sequential net{nn::Conv2d(3, 8, 1, {}, rng), nn::InstanceNorm2d(8), nn::Conv2d(8, 2, 1, {}, rng)};
  const auto groups = channel_groups(net, {randn({1, 3, 5, 5}, rng)});
  const Kept kept = choose(groups, net.state_dict(), {.share = 0.5});
  EXPECT_THAT(error_of<ConfigError>([&] { cut(net, groups, kept); }),
              HasSubstr("1 cannot be cut in its place"));
  EXPECT_EQ(net.state_dict()[0].tensor.size(0), 8);
}

TEST(Channels, HeadsAndHiddenFeaturesOfTransformersGo) {
  Rng rng(5);
  nn::Graph net(2);
  const auto x = net.add(
      "encoder", nn::TransformerEncoderLayer(12, 4, {.dim_feedforward = 20, .batch_first = true}, rng), {0});
  const auto y =
      net.add("decoder",
              nn::TransformerDecoderLayer(12, 4, {.dim_feedforward = 20, .batch_first = true}, rng), {1, x});
  net.add("head", nn::Linear(12, 3, rng), {y});
  const TensorList in{randn({2, 5, 12}, rng), randn({2, 4, 12}, rng)};
  const auto groups = cut_and_compare(net, in, {.share = 0.4, .heads = 0.5});
  EXPECT_EQ(groups.size(), 5U);
  EXPECT_THAT(net.description(), HasSubstr("MultiheadAttention(12, 2 of 3)"));
  EXPECT_THAT(net.description(), HasSubstr("Linear(12, 12)"));
  EXPECT_THAT(group_of(groups, "head").fixed, HasSubstr("output"));
}

TEST(Channels, WhatIsReadInWaysThatAreNotKnownStays) {
  Rng rng(6);
  nn::Sequential net{nn::Conv2d(3, 8, 1, {}, rng), nn::Softmax(1),
                     nn::Conv2d(8, 8, 1, {}, rng), nn::PixelShuffle(2),
                     nn::Conv2d(2, 4, 1, {}, rng), nn::GroupNorm(2, 4),
                     nn::Conv2d(4, 4, 1, {}, rng), nn::Lambda([](const Tensor& t) { return t * 2; }),
                     nn::Conv2d(4, 2, 1, {}, rng)};
  const auto groups = channel_groups(net, {randn({1, 3, 4, 4}, rng)});
  EXPECT_THAT(group_of(groups, "0").fixed, HasSubstr("1 (Softmax"));
  EXPECT_THAT(group_of(groups, "2").fixed, HasSubstr("3 (PixelShuffle"));
  EXPECT_THAT(group_of(groups, "4").fixed, HasSubstr("5 (GroupNorm"));
  EXPECT_THAT(group_of(groups, "6").fixed, IsEmpty());  // a function that treats each by itself
  const Kept kept = choose(groups, net.state_dict(), {.share = 1});
  EXPECT_EQ(kept[0].size(), 8U);
  EXPECT_EQ(kept[3].size(), 1U);  // one stays
}

TEST(Channels, HiddenUnitsOfRecurrentLayersGoWithTheirGatesAndReaders) {
  Rng rng(7);
  const Tensor x = randn({2, 5, 4}, rng);
  const auto behind = [&](auto layer, std::int64_t width) {
    nn::Sequential net{nn::Linear(4, 6, rng), std::move(layer), nn::Dropout(0.1, rng), nn::LastStep()};
    net.add(nn::Linear(width, 2, rng));
    const auto groups = cut_and_compare(net, {x}, {.share = 0.5});
    EXPECT_EQ(group_of(groups, "0").fixed, "");
    EXPECT_EQ(group_of(groups, "1").fixed, "");
    EXPECT_EQ(group_of(groups, "1").size, 8);
  };
  behind(nn::RNN(6, 8, {.batch_first = true}, rng), 8);
  behind(nn::LSTM(6, 8, {.batch_first = true}, rng), 8);
  behind(nn::GRU(6, 8, {.num_layers = 2, .batch_first = true}, rng), 8);
  behind(nn::LSTM(6, 8, {.num_layers = 2, .batch_first = true, .bidirectional = true}, rng), 16);
  nn::Sequential chain{nn::GRU(4, 6, {.batch_first = true}, rng), nn::LSTM(6, 8, {.batch_first = true}, rng)};
  chain.add(nn::Linear(8, 3, rng));
  cut_and_compare(chain, {x}, {.share = 0.4});
  EXPECT_EQ(dynamic_cast<const nn::Recurrent&>(chain[1]).hidden(), 5);
}

TEST(Channels, OfALayerNormBehindARecurrentLayerStay) {
  Rng rng(7);
  nn::Sequential net{nn::LSTM(4, 8, {.batch_first = true}, rng), nn::LayerNorm({8}), nn::Linear(8, 2, rng)};
  const auto groups = channel_groups(net, {randn({2, 5, 4}, rng)});
  EXPECT_THAT(group_of(groups, "0").fixed, HasSubstr("LayerNorm"));
}

TEST(Channels, OfALayerThatIsUsedTwiceStay) {
  Rng rng(8);
  const nn::Conv2d conv(4, 4, 1, {}, rng);
  nn::Graph net;
  const auto first = net.add("a", nn::Conv2d(3, 4, 1, {}, rng), {0});
  const auto shared = std::make_shared<nn::Conv2d>(conv);
  const auto b = net.add("b", shared, {first});
  net.add("c", nn::Conv2d(4, 2, 1, {}, rng), {net.add("again", shared, {b})});
  for (const ChannelGroup& group : channel_groups(net, {randn({1, 3, 4, 4}, rng)}))
    EXPECT_NE(group.fixed, "");
}

TEST(Channels, TheLeastUnitsAreThoseOfTheSmallestProductOfNorms) {
  nn::Sequential net{nn::Linear(1, 3), nn::ReLU(), nn::Linear(3, 1)};
  NamedTensors state = net.state_dict();
  state[0].tensor.assign(Tensor::of({3, 1}, {1, 4, 3}));
  state[2].tensor.assign(Tensor::of({1, 3}, {3, 0.5, 1}));
  const auto groups = channel_groups(net, {ones({1, 1})});
  EXPECT_THAT(unit_scores(groups[0], state), ElementsAre(3, 2, 3));
  const Kept kept = choose(groups, state, {.share = 0.34});
  EXPECT_THAT(kept[0], ElementsAre(0, 2));
}

TEST(Channels, OfTheWholeNetworkThoseGoThatCountLeastBesideTheirGroup) {
  Rng rng(9);
  nn::Sequential net{nn::Linear(4, 8, rng), nn::ReLU(), nn::Linear(8, 8, rng), nn::ReLU(),
                     nn::Linear(8, 2, rng)};
  NamedTensors state = net.state_dict();
  for (int i = 0; i < 6; ++i) {  // six of the first layer's count nearly nothing
    Tensor row = narrow(state[0].tensor, 0, i, 1);
    row.assign(row * 1e-3);
  }
  const auto groups = channel_groups(net, {randn({1, 4}, rng)});
  const Kept kept = choose(groups, state, {.share = 0.375, .scope = PruneScope::network});
  EXPECT_THAT(kept[0], ElementsAre(6, 7));
  EXPECT_EQ(kept[1].size(), 8U);
  const Kept spared = choose(groups, state, {.share = 0.5, .except = {"0"}});
  EXPECT_EQ(spared[0].size(), 8U);
  EXPECT_EQ(spared[1].size(), 4U);
}

TEST(Channels, ACutNetworkLearnsOn) {
  Rng rng(10);
  nn::Sequential net{nn::Conv2d(1, 4, 3, padded(1, false), rng), nn::BatchNorm2d(4), nn::ReLU(),
                     nn::Flatten(), nn::Linear(4 * 9, 2, rng)};
  const auto groups = channel_groups(net, {randn({2, 1, 3, 3}, rng)});
  cut(net, groups, choose(groups, net.state_dict(), {.share = 0.5}));
  net.train();
  mean(square(net(randn({4, 1, 3, 3}, rng)))).backward();
  for (const Tensor& parameter : net.parameters()) EXPECT_EQ(parameter.grad().shape(), parameter.shape());
}

TEST(Channels, WhatCannotBeIsRefused) {
  Rng rng(12);
  nn::Sequential net{nn::Linear(4, 8, rng), nn::ReLU(), nn::Linear(8, 2, rng)};
  const auto groups = channel_groups(net, {randn({1, 4}, rng)});
  NamedTensors state = net.state_dict();
  EXPECT_THAT(error_of<ConfigError>([&] { choose(groups, state, {.share = -0.1}); }), HasSubstr("-0.1"));
  EXPECT_THAT(error_of<ConfigError>([&] { choose(groups, state, {.heads = NAN}); }), HasSubstr("share"));
  EXPECT_THAT(error_of<ConfigError>([&] { choose(groups, state, {.except = {"9"}}); }), HasSubstr("9"));
  EXPECT_THAT(error_of<ConfigError>([&] { cut_state(state, groups, {}); }), HasSubstr("2 groups"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                cut_state(state, groups, {{0, 8}, {0, 1}});
              }),
              HasSubstr("unit 8"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                cut_state(state, groups, {{1, 0}, {0, 1}});
              }),
              HasSubstr("unit 0"));
  EXPECT_THAT(error_of<ConfigError>([&] { cut_state(state, groups, {{0}, {0}}); }), HasSubstr("output"));
  EXPECT_THAT(error_of<ConfigError>([&] {
                cut_state(state, groups, {{}, {0, 1}});
              }),
              HasSubstr("none of it"));
  state[0].tensor.assign(full({8, 4}, NAN));
  EXPECT_THAT(error_of<ConfigError>([&] { choose(groups, state, {.share = 0.5}); }), HasSubstr("NaN"));
}

}  // namespace
}  // namespace veldt::compress
