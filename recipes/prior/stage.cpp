// Draws the crops of each step, and measures the prior's error on them.
#include "recipes/prior/stage.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/pooling.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::prior {
namespace {

// As a file would have it.
Tensor rounded(const Tensor& levels) { return round(levels * 255) / 255; }

}  // namespace

double Stage::rate_at(std::int64_t step) const {
  const double along = static_cast<double>(step) / static_cast<double>(steps);
  const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * along));
  return rate * std::min(1.0, static_cast<double>(step + 1) / 100) * std::max(0.02, cosine);
}

StageTask::StageTask(field::Prior& prior, const Crops& crops, const Stage& stage)
    : prior_(prior),
      crops_(crops),
      stage_(stage),
      adam_(prior.named_parameters(), {.lr = stage.rate, .beta2 = 0.99, .clip = {.norm = 1}}),
      average_(adam_, {.decay = 0.999}),
      four_(zeros({kFour, 1, 4 * kSide, 4 * kSide})),
      two_(zeros({kTwo, 1, 2 * kSide, 2 * kSide})) {}

void StageTask::prepare(std::int64_t step, std::int64_t) {
  Rng rng(stage_.seed, static_cast<std::uint64_t>(step) + 2);
  for (const Tensor& truth : {four_, two_}) {
    const std::int64_t side = truth.size(3);
    for (std::int64_t i = 0; i < truth.size(0); ++i)
      crops_.draw(rng, stage_.drawings, side,
                  {truth.data<float>() + i * side * side, static_cast<std::size_t>(side * side)});
  }
}

Tensor StageTask::pixels_of(const Tensor& truth, std::int64_t scale) const {
  const Tensor pixels = rounded(avg_pool2d(truth, scale));
  return prior_.options().two_tone ? round(pixels) : pixels;
}

// What a gain in dB is the mean of: the logarithm of each crop's mean square. Beyond 45 dB nothing is gained.
Tensor StageTask::error(const Tensor& drawn, const Tensor& truth) const {
  return mean(log(mean(square(drawn - truth), {1, 2, 3}, false) + 3e-5)) * 0.02;
}

Tensor StageTask::loss() {
  const Tensor drawn = prior_(cat({pixels_of(four_, 4), pixels_of(two_, 2)}, 0));
  const Tensor at_four = narrow(drawn, 0, 0, kFour), at_two = avg_pool2d(narrow(drawn, 0, kFour, kTwo), 2);
  return error(at_four, four_) * (2.0 / 3) + error(at_two, two_) * (1.0 / 3);
}

void StageTask::load_own_state(const std::map<std::string, Tensor>& saved) {
  NamedTensors state;
  for (const auto& [name, tensor] : saved) state.push_back({name, tensor});
  average_.load_state_dict(state);
}

}  // namespace veldt::prior
