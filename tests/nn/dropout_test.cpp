// Dropout drops its share, scales the rest, and goes on where its stream was saved.
#include "veldt/nn/dropout.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "tests/golden/nn_and_optim.h"
#include "veldt/core/error.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/plan.h"

namespace veldt::nn {
namespace {

std::vector<float> values(const Tensor& t) { return t.values<float>(); }

TEST(Dropout, DropsItsShareAndScalesTheRest) {
  Rng rng(1);
  const Dropout layer(0.25, rng);
  const std::vector<float> out = values(layer(ones({400, 100})));
  const auto dropped = std::count(out.begin(), out.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped) / 40000, 0.25, 0.01);
  EXPECT_EQ(std::count(out.begin(), out.end(), 1.0f / 0.75f), 40000 - dropped);
}

TEST(Dropout, DropsTheSameOfTheGradient) {
  Rng rng(2);
  const Dropout layer(0.5, rng);
  Tensor x = ones({100}, DType::f64).set_requires_grad();
  const Tensor y = layer(x);
  sum(y).backward();
  EXPECT_EQ(x.grad().values<double>(), y.values<double>());
}

TEST(Dropout, DoesNothingInEvaluationAndAllAtTheBounds) {
  Dropout layer(0.5), none(0), all(1);
  layer.eval();
  const Tensor x = full({5}, std::numeric_limits<double>::infinity());
  EXPECT_EQ(values(layer(x)), values(x));
  EXPECT_EQ(values(none(x)), values(x));
  EXPECT_EQ(values(all(x)), std::vector<float>(5, 0.0f));
  EXPECT_THROW(Dropout(1.5), ConfigError);
  EXPECT_THROW(Dropout(-0.1), ConfigError);
}

TEST(Dropout, DrawsAnewAtEachCallAndGoesOnWhereItWasSaved) {
  Rng rng(3);
  const Dropout layer(0.5, rng);
  const Tensor x = ones({64});
  const std::vector<float> first = values(layer(x));
  NamedTensors saved;
  for (const auto& [name, tensor] : layer.state_dict())
    saved.push_back({name, Tensor::from<std::int64_t>({2}, tensor.values<std::int64_t>())});
  const std::vector<float> second = values(layer(x)), third = values(layer(x));
  EXPECT_NE(first, second);
  Dropout resumed(0.5);
  resumed.load_state_dict(saved);
  EXPECT_EQ(values(resumed(x)), second);
  EXPECT_EQ(values(resumed(x)), third);
}

TEST(Dropout, DrawsAnewAtEachReplayOfAPlan) {
  Rng one(4), other(4);
  const Dropout layer(0.5, one), planned(0.5, other);
  const Tensor x = ones({64});
  Plan plan([&] { return planned(x); });
  for (int i = 0; i < 3; ++i) {
    plan.replay();
    EXPECT_EQ(values(plan.output()), values(layer(x)));
  }
}

TEST(Dropout, IsNotMissedInAFileOfTorchs) {
  Sequential model(Linear(2, 2), Dropout(0.5));
  const NamedTensors torchs{{"0.weight", ones({2, 2})}, {"0.bias", ones({2})}};
  EXPECT_TRUE(model.load_state_dict(torchs).complete());
}

// Of [n, c, ..] given as ones: whether each channel is 0 or 1 / (1 - p) throughout; the number of zeros.
std::int64_t dropped_channels(const Tensor& y, int spatial, float kept) {
  const std::vector<float> out = values(y);
  std::size_t length = 1;
  for (int d = 1; d <= spatial; ++d) length *= static_cast<std::size_t>(y.size(-d));
  std::int64_t dropped = 0;
  for (std::size_t i = 0; i < out.size(); i += length) {
    EXPECT_TRUE(out[i] == 0 || out[i] == kept) << out[i];
    EXPECT_EQ(std::count(&out[i], &out[i] + length, out[i]), static_cast<std::ptrdiff_t>(length));
    dropped += out[i] == 0;
  }
  return dropped;
}

TEST(ChannelDropout, DropsWholeChannels) {
  Rng rng(5);
  EXPECT_NEAR(static_cast<double>(dropped_channels(Dropout1d(0.25, rng)(ones({40, 50, 3})), 1, 1 / 0.75f)),
              500, 60);
  EXPECT_NEAR(static_cast<double>(dropped_channels(Dropout2d(0.5, rng)(ones({40, 50, 3, 2})), 2, 2)), 1000,
              70);
  EXPECT_NEAR(static_cast<double>(dropped_channels(Dropout3d(0.5, rng)(ones({900, 2, 1, 3})), 3, 2)), 450,
              60);
  EXPECT_NEAR(static_cast<double>(dropped_channels(Dropout2d(0.5, rng)(ones({900, 2, 2})), 2, 2)), 450, 60);
  EXPECT_EQ(Dropout2d(0.25).title(), "Dropout2d(0.25)");
  EXPECT_THROW(Dropout2d(0.5)(ones({3, 4})), ShapeError);
  EXPECT_THROW(Dropout1d(2), ConfigError);
}

TEST(ChannelDropout, DropsTheSameOfTheGradientAndNothingInEvaluation) {
  Rng rng(2);
  Dropout1d layer(0.5, rng);
  const Tensor x = ones({20, 3, 4}).set_requires_grad();
  const Tensor y = layer(x);
  sum(y).backward();
  EXPECT_EQ(values(x.grad()), values(y));
  layer.eval();
  EXPECT_EQ(values(layer(x)), values(x));
}

TEST(ChannelDropout, GoesOnWhereItWasSavedWithADrawForEachChannel) {
  Rng rng(3);
  const Dropout2d layer(0.5, rng);
  layer(ones({5, 4, 3, 3}));
  EXPECT_EQ(layer.state_dict()[0].tensor.values<std::int64_t>()[1], 20);
  Dropout2d resumed(0.5);
  resumed.load_state_dict(layer.state_dict());
  EXPECT_EQ(values(resumed(ones({5, 4, 3, 3}))), values(layer(ones({5, 4, 3, 3}))));
}

TEST(AlphaDropout, GivesTorchsNumbersAndKeepsMeanAndVariance) {
  const nlohmann::json cases = test::read_golden("embedding.json").at("alpha_dropout");
  ASSERT_EQ(cases.size(), 2u);
  for (const nlohmann::json& g : cases) {
    Rng rng(6);
    const AlphaDropout layer(g.at("p").get<double>(), rng);
    const Tensor x = cat({ones({1000}, DType::f64), zeros({1000}, DType::f64)});
    std::vector<double> out = layer(x).values<double>();
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    ASSERT_EQ(out.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(out[i], g.at("values")[i].get<double>(), 1e-12) << layer.title();
    const Tensor y = layer(randn({100000}, rng));
    EXPECT_NEAR(mean(y).item(), 0, 0.02);
    EXPECT_NEAR(variance(y).item(), 1, 0.02);
  }
}

TEST(AlphaDropout, PassesAGradientWhereItKeeps) {
  Rng rng(6);
  AlphaDropout layer(0.5, rng);
  const Tensor x = randn({50}, rng).set_requires_grad();
  const Tensor y = layer(x);
  sum(y).backward();
  // The value that all dropped ones have is the only one that comes more than once.
  const std::vector<float> out = values(y), slope = values(x.grad());
  for (std::size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(slope[i] == 0, std::count(out.begin(), out.end(), out[i]) > 1) << i;
  layer.eval();
  EXPECT_EQ(values(layer(x)), values(x));
  EXPECT_EQ(values(AlphaDropout(1)(x)), std::vector<float>(50, 0.0f));
}

}  // namespace
}  // namespace veldt::nn
