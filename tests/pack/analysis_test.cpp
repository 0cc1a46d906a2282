// Latents that the analysis finds for a picture.
#include "veldt/pack/analysis.h"

#include <gtest/gtest.h>

#include <cmath>

#include "veldt/codec/base_networks.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"
#include "veldt/pack/learner.h"
#include "veldt/pack/texts.h"

namespace veldt::pack {
namespace {

constexpr std::int64_t kSide = 128;

// Soft hills with an edge through them: [1, 3, side, side] and as bytes.
struct Picture {
  Picture() : tensor(zeros({1, 3, kSide, kSide})) {
    float* to = tensor.data<float>();
    for (std::int64_t y = 0; y < kSide; ++y)
      for (std::int64_t x = 0; x < kSide; ++x)
        for (std::int64_t c = 0; c < 3; ++c) {
          const double u = static_cast<double>(x) / 17, v = static_cast<double>(y) / 23;
          const double shade =
              127 + 50 * std::sin(u + static_cast<double>(c)) * std::cos(v) + (x > y + 20 ? 40 : 0);
          bytes.push_back(static_cast<std::uint8_t>(shade));
          to[(c * kSide + y) * kSide + x] = static_cast<float>(bytes.back()) / 255;
        }
  }
  Tensor tensor;
  std::vector<std::uint8_t> bytes;
};

Cost cost_of(const std::vector<Tensor>& latents, Learner& learner, int base) {
  for (int l = 0; l < codec::kLevels; ++l) {
    const Tensor level = contiguous(latents[static_cast<std::size_t>(l)]);
    learner.begin_with(l, {level.data<float>(), static_cast<std::size_t>(level.numel())});
  }
  return learner.measure(codec::to_floats(codec::base_networks(base)), {.soft = false});
}

TEST(PackAnalysis, FindsLatentsThatTheBaseNetworksDraw) {
  const NoGrad off;
  const Picture picture;
  Learner learner({kSide, kSide}, picture.bytes);
  const std::vector<Tensor> features = learned_analysis().features(picture.tensor);
  double bits = 0, error = 1;
  for (int base = 0; base < codec::kBaseNetworks; ++base) {
    const std::vector<Tensor> latents = learned_analysis().latents(features, base);
    for (int l = 0; l < codec::kLevels; ++l)
      EXPECT_EQ(latents[static_cast<std::size_t>(l)].shape(), (Shape{kSide >> l, kSide >> l}));
    const Cost cost = cost_of(latents, learner, base);
    std::vector<Tensor> nothing;
    for (const Tensor& level : latents) nothing.push_back(level * 0.0);
    // The smaller lambda, the more bits and the fewer errors; and far better than no latents.
    EXPECT_GT(cost.bits, bits) << base;
    EXPECT_LT(cost.square_error, error) << base;
    EXPECT_LT(cost.square_error, 0.2 * cost_of(nothing, learner, base).square_error) << base;
    bits = cost.bits;
    error = cost.square_error;
  }
  EXPECT_LT(bits / learner.pixels(), 3);
  EXPECT_LT(error, 2e-3);
}

TEST(PackAnalysis, ItsTextHoldsAllOfIt) {
  std::string text(analysis_base64);
  std::erase(text, '\n');
  EXPECT_EQ(to_text(learned_analysis()), text);
}

}  // namespace
}  // namespace veldt::pack
