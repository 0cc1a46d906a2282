// Runs the prior's network over a picture, and corrects its details so that means stay the pixels.
#include "veldt/field/prior.h"

#include "veldt/core/error.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/pooling.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kSamples = Prior::kScale * Prior::kScale;
constexpr std::int64_t kMeanReach = 3;  // of the local mean: 7 by 7 pixels
constexpr std::int64_t kHeadReach = 2;  // of the first kernel: 5 by 5
constexpr double kNegativeSlope = 0.1;
constexpr double kGain = 4;             // details are about a quarter of a level
constexpr double kLessThanHalf = 0.49;  // share of a two-tone pixel's area that may have the other tone

PriorOptions checked(const PriorOptions& o) {
  if (!o.possible())
    throw ConfigError(str("cannot build a prior of ", o.width, " channels and ", o.depth, " layers"),
                      "channels are 1 to 128, layers an even number from 0 to 32",
                      "choose numbers within these bounds");
  return o;
}

nn::Conv2d layer(std::int64_t in, std::int64_t out, std::int64_t reach, bool bias, double gain, Rng& rng) {
  nn::Conv2d made(in, out, 2 * reach + 1,
                  {.padding = reach, .padding_mode = PadMode::replicate, .bias = bias}, rng);
  Tensor weight = made.weight();
  weight.assign(weight.detach() * gain);
  return made;
}

// Whether the pixels around one have two or more levels.
Tensor has_detail(const Tensor& x) {
  const Tensor levels = x.detach();
  const auto largest = [](const Tensor& t) { return max_pool2d(t, 5, {.stride = 1, .padding = 2}); };
  return not_equal(largest(levels), -largest(-levels));
}

}  // namespace

Prior::Prior(PriorOptions options, Rng& rng)
    : options_(checked(options)),
      head_(layer(1, options.width, kHeadReach, true, 1, rng)),
      body_([&] {
        std::vector<nn::Conv2d> layers;
        for (std::int64_t i = 0; i < options.depth; ++i)
          layers.push_back(layer(options.width, options.width, 1, true, 0.7, rng));
        return layers;
      }()),
      tail_(layer(options.width, kSamples, 1, false, 0.1, rng)) {}

std::string Prior::title() const { return str("Prior(", options_.width, ", ", options_.depth, ')'); }

std::int64_t Prior::reach() const { return kMeanReach + kHeadReach + options_.depth + 1; }

// [n, 1, h, w] about 0 -> [n, 16, h, w]
Tensor Prior::detail(const Tensor& x) const {
  Tensor z = leaky_relu(head_(x * kGain), kNegativeSlope);
  for (std::size_t i = 0; i < body_.size(); i += 2)
    z = leaky_relu(z + body_[i + 1](leaky_relu(body_[i](z), kNegativeSlope)), kNegativeSlope);
  return tail_(z) * (1 / kGain);
}

// Subtracts the output for an empty input, and the mean of each pixel's samples, so that their mean stays the
// pixel; a two-tone pixel keeps the tone of most of its samples. A pixel in the middle of 5 by 5 of one level
// has no detail.
Tensor Prior::forward(const Tensor& x) const {
  const std::vector<std::int64_t> around(4, kMeanReach);
  const Tensor level = avg_pool2d(pad(x, around, PadMode::replicate), 2 * kMeanReach + 1, {.stride = 1});
  Tensor r = detail(x - level) - detail(zeros({1, 1, 1, 1}, x.dtype(), x.device()));
  const Tensor middle = mean(r, {1}, true);
  r = r - middle;
  if (options_.two_tone) r = r + maximum(minimum(middle, kLessThanHalf * (1 - x)), -kLessThanHalf * x);
  r = r * veldt::to(has_detail(x), x.dtype());
  return pixel_shuffle(x + r, kScale);
}

}  // namespace veldt::field
