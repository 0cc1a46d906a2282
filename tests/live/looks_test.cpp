// Norms, layers and confusions of networks that are small enough to know them.
#include "veldt/live/looks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/graph.h"

namespace veldt::live {
namespace {

TEST(LiveLooks, GradientNormsAreThoseOfLayers) {
  Rng rng(1);
  nn::Sequential net(nn::Linear(2, 3, {.bias = false}, rng), nn::ReLU(), nn::Linear(3, 1, rng));
  EXPECT_TRUE(gradient_norms(net).empty());
  // d(sum)/d(bias) of the last layer is 1, and d/d(weight) the activations: 0 for an input of 0 and no bias.
  const Tensor x = zeros({1, 2});
  sum(net(x)).backward();
  const auto norms = gradient_norms(net);
  ASSERT_EQ(norms.size(), 2);
  EXPECT_EQ(norms[0].first, "0");
  EXPECT_EQ(norms[1], (std::pair<std::string, double>{"2", 1.0}));
}

TEST(LiveLooks, ManyLayersAreThinnedOut) {
  Rng rng(1);
  nn::Sequential net;
  for (int i = 0; i < 40; ++i) net.add(nn::Linear(1, 1, rng));
  sum(net(ones({1, 1}))).backward();
  const auto norms = gradient_norms(net, 5);
  ASSERT_EQ(norms.size(), 5);
  EXPECT_EQ(norms.front().first, "0");
  EXPECT_EQ(norms.back().first, "39");
}

TEST(LiveLooks, LayersComeInTheirOrderWithShapes) {
  Rng rng(1);
  nn::Sequential net(nn::Linear(2, 3, rng), nn::ReLU(), nn::Linear(3, 1, rng));
  const auto layers = layers_of(net, zeros({4, 2}));
  ASSERT_EQ(layers.size(), 3);
  EXPECT_EQ(layers[0].name, "0");
  EXPECT_EQ(layers[0].kind, "Linear(2, 3)");
  EXPECT_EQ(layers[0].output, "[4, 3]");
  EXPECT_EQ(layers[0].parameters, 9);
}

TEST(LiveLooks, ConfusionsAndTheWorst) {
  Confusions confusions(3, 2);
  const Tensor logits = Tensor::of({4, 3}, {9, 0, 0, 0, 5, 0, 0, 2, 0, 0, 0, 1});
  const std::vector<std::int64_t> labels{0, 0, 2, -100};
  confusions.look({logits}, {zeros({4, 1}), Tensor::from<std::int64_t>({4}, labels)});
  const ConfusionTable table = confusions.table({"a", "b"});
  EXPECT_EQ(table.classes, (std::vector<std::string>{"a", "b", "2"}));
  EXPECT_EQ(table.counts, (std::vector<std::int64_t>{1, 1, 0, 0, 0, 0, 0, 1, 0}));
  Rng rng(1);
  const data::DatasetPtr set = data::from_tensors({rand({4, 1, 2, 2}, rng), zeros({4})});
  const auto worst = confusions.worst(*set, {});
  ASSERT_EQ(worst.size(), 2);
  EXPECT_EQ(worst[0].label, "0");
  EXPECT_EQ(worst[0].taken_for, "1");
  EXPECT_LT(worst[0].probability, worst[1].probability);
  EXPECT_TRUE(worst[0].png.starts_with("\x89PNG"));
  const data::DatasetPtr large = data::from_tensors({rand({4, 3, 300, 200}, rng), zeros({4})});
  const std::string png = confusions.worst(*large, {}).at(0).png;
  EXPECT_EQ(png.substr(16, 8), std::string("\0\0\0\x40\0\0\0\x60", 8));  // 64 wide, 96 high
  const data::DatasetPtr rows = data::from_tensors({zeros({4, 5}), zeros({4})});
  EXPECT_EQ(confusions.worst(*rows, {}).at(0).png, "");  // no picture
}

TEST(LiveLooks, ConfusionsOfWhatIsNoneAreRefusedOrLeftOut) {
  EXPECT_THROW(Confusions(0), ConfigError);
  EXPECT_THROW(Confusions(std::int64_t{1} << 40), ConfigError);
  Confusions confusions(2, 2);
  const Tensor labels = Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{0, 1});
  EXPECT_THROW(confusions.look({}, {labels}), ShapeError);
  EXPECT_THROW(confusions.look({zeros({2, 3})}, {labels}), ShapeError);
  EXPECT_THROW(confusions.look({zeros({3, 2})}, {labels}), ShapeError);
  EXPECT_THROW(confusions.look({zeros({2})}, {labels}), ShapeError);
  confusions.look({Tensor::of({2, 2}, {NAN, 1, 0, 1})}, {labels});
  EXPECT_EQ(confusions.table({}).counts, (std::vector<std::int64_t>{0, 0, 0, 1}));
}

TEST(LiveLooks, LayersAreNamedWithoutACallToo) {
  Rng rng(1);
  nn::Sequential net(nn::Linear(2, 3, rng), nn::ReLU(), nn::Linear(3, 1, rng));
  const auto layers = layers_of(net);
  ASSERT_EQ(layers.size(), 2);
  EXPECT_EQ(layers[1].name, "2");
  EXPECT_EQ(layers[1].parameters, 4);
}

}  // namespace
}  // namespace veldt::live
