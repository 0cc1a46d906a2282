// Latents begin as the analysis finds them. The loss is error + lambda * bits a pixel. lambda follows the
// size that was asked for, the rates fall along a cosine, and the rounding of the latents becomes harder (C3:
// Kim et al. 2023; Cool-chic 4).
#include "veldt/pack/pack_photograph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <span>

#include "veldt/codec/base_networks.h"
#include "veldt/codec/photograph.h"
#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"
#include "veldt/pack/analysis.h"
#include "veldt/pack/colours.h"
#include "veldt/pack/learner.h"
#include "veldt/pack/network_adam.h"
#include "veldt/pack/network_coding.h"

namespace veldt::pack {
namespace {

using codec::kNumbers;
using codec::Networks;

constexpr double kLatentRate = 0.12, kNetworkRate = 6e-3;
constexpr double kWarmUp = 20;  // steps
// A change of a number of the networks by d is taken to cost kChangeBits log(1 + d / kSmallChange) bits.
constexpr float kChangeBits = 4, kSmallChange = 0.05f;
// Shares of the steps: after the first the networks are as the file has them, and the latents alone learn;
// between the others lambda follows the size.
constexpr double kFrozen = 0.7, kSteersFrom = 0.1, kSteersUpTo = 0.95;
// What learning changes usually: decibels, and the bits for the same.
constexpr double kUsualGain = 1, kUsualGrowth = 1.1;
constexpr double kFarther = 4;       // times a base network's lambda: where lambda begins at most
constexpr std::int64_t kLooks = 60;  // at the size on the way
constexpr double kGain = 0.3;
constexpr int kUsualShift = 7;
constexpr double kLeastLambda = 1e-6, kMostLambda = 0.1;

// [1, 3, h, w] of colours [h][w][3], with the edges repeated up to multiples of 64.
Tensor padded(Size size, std::span<const float> colours) {
  constexpr std::int64_t kMultiple = std::int64_t{1} << (codec::kLevels - 1);
  const auto more = [](std::int64_t n) { return (n + kMultiple - 1) / kMultiple * kMultiple - n; };
  const Tensor pixels = Tensor::from<float>({size.height, size.width, 3}, colours);
  const Tensor picture = unsqueeze(permute(pixels, {2, 0, 1}), 0);
  return pad(contiguous(picture), {0, more(size.width), 0, more(size.height)}, PadMode::replicate);
}

std::vector<Tensor> features(Size size, std::span<const float> colours) {
  const NoGrad off;
  return learned_analysis().features(padded(size, colours));
}

// The values, one for each of the base networks, are usually larger where lambda is smaller. Where a line
// through the one nearest 0 and the next on the other side of 0 is 0, near that base: odd pictures have
// values in another order.
double lambda_where_zero(const std::array<double, codec::kBaseNetworks>& values) {
  const auto* nearest = std::ranges::min_element(values, {}, [](double v) { return std::abs(v); });
  const auto i = static_cast<std::size_t>(nearest - values.begin());
  const std::size_t j = values[i] < 0 ? std::min(i + 1, values.size() - 1) : i - std::min<std::size_t>(i, 1);
  const double apart = std::log(kBaseLambdas[i] / kBaseLambdas[j]);
  const double slope = i == j ? -1.0 : std::clamp((values[i] - values[j]) / apart, -2.0, -0.3);
  return kBaseLambdas[i] * std::exp(std::clamp(-values[i] / slope, -std::log(kFarther), std::log(kFarther)));
}

int nearest_base(double lambda) {
  const auto apart = [&](double of) { return std::abs(std::log(of / lambda)); };
  const auto* best = std::min_element(kBaseLambdas.begin(), kBaseLambdas.end(),
                                      [&](double a, double b) { return apart(a) < apart(b); });
  return static_cast<int>(best - kBaseLambdas.begin());
}

double decibels(double square_error) {
  return square_error > 0 ? -10 * std::log10(square_error) : std::numeric_limits<double>::infinity();
}

// The mean square difference of bytes, of 1 for white.
double square_error(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += d * d;
  }
  return sum / 65025 / static_cast<double>(a.size());
}

class Packer {
 public:
  Packer(Size size, const std::vector<std::uint8_t>& pixels, const PhotographOptions& options,
         FunctionRef<bool(const PackProgress&)> heard)
      : options_(options),
        heard_(heard),
        pixels_(pixels),
        axes_(principal_axes(pixels)),
        colours_(along_axes(pixels, axes_)),
        features_(features(size, colours_)),
        learner_(size, colours_) {
    begin();
  }

  void learn() {
    NetworkAdam adam;
    const Networks<float> base = networks_;
    for (std::int64_t s = 0; goes_on_ && s < options_.steps; ++s) {
      const double done = static_cast<double>(s) / static_cast<double>(options_.steps);
      // The first steps of Adam are as large for numbers that are right as for those that are not.
      const double warm = std::min(1.0, static_cast<double>(s + 1) / kWarmUp);
      const double falling = warm * std::max(0.5 * (1 + std::cos(std::numbers::pi * done)), 0.003);
      Rounding how;
      how.temperature = static_cast<float>(0.4 - 0.3 * done);
      how.noise = static_cast<float>(0.22 - 0.07 * done);
      how.seed = options_.seed + static_cast<std::uint32_t>(s);
      if (!coded_ && done >= kFrozen) freeze();
      Networks<float> gradient{};
      learner_.differentiate(networks_, how, lambda_, coded_ ? nullptr : &gradient);
      learner_.update(kLatentRate * falling, lambda_);
      if (!coded_) {
        add_cost_of_changes(base, gradient);
        adam.step(networks_, gradient, kNetworkRate * falling);
      }
      if (s % std::max<std::int64_t>(options_.steps / kLooks, 1) == 0) look(done);
      goes_on_ = heard_({s + 1, options_.steps, bpp_ + network_bits_ / learner_.pixels(), psnr_});
    }
    if (!coded_) freeze();
  }

  PackedPhotograph write() {
    PackedPhotograph result;
    result.body = write_photograph(learner_.rounded(), coded_->networks, coded_->shifts,
                                   {.base = base_, .axes = axes_});
    const codec::PhotographReader reader(result.body, learner_.size(), "the picture", false);
    result.psnr =
        decibels(square_error(pixels_, reader.pixels({0, 0, learner_.size().width, learner_.size().height})));
    return result;
  }

 private:
  // With the latents that the analysis finds for the base networks whose file would be nearest to what is
  // asked for.
  void begin() {
    const NoGrad off;
    const Analysis& analysis = learned_analysis();
    std::array<double, codec::kBaseNetworks>
        sizes;  // logarithms of sizes or qualities, beside those asked for
    for (int base = 0; base < codec::kBaseNetworks; ++base) {
      goes_on_ = goes_on_ && heard_({0, options_.steps, 0, 0});
      begin_with(analysis.latents(features_, base));
      const Cost cost = learner_.measure(codec::to_floats(codec::base_networks(base)), {.soft = false});
      sizes[static_cast<std::size_t>(base)] =
          options_.psnr ? -std::log(std::max(cost.square_error, 1e-9)) -
                              (*options_.psnr - kUsualGain) / 10 * std::numbers::ln10
                        : std::log(std::max(cost.bits, 1.0) / learner_.pixels() /
                                   (kUsualGrowth * options_.bits_a_pixel));
    }
    lambda_ = lambda_where_zero(sizes);
    base_ = nearest_base(lambda_);
    networks_ = codec::to_floats(codec::base_networks(base_));
    begin_with(analysis.latents(features_, base_));
    features_ = {};
    colours_ = std::vector<float>();
  }

  void begin_with(const std::vector<Tensor>& latents) {
    for (int l = 0; l < codec::kLevels; ++l) {
      const Size size = codec::level_size(learner_.size(), l);
      const Tensor part = contiguous(
          narrow(narrow(latents[static_cast<std::size_t>(l)], 0, 0, size.height), 1, 0, size.width));
      learner_.begin_with(l, {part.data<float>(), static_cast<std::size_t>(part.numel())});
    }
  }

  // What a file would take for the changes from the base belongs to the loss: without it they take more than
  // they gain.
  void add_cost_of_changes(const Networks<float>& base, Networks<float>& gradient) const {
    const auto scale = kChangeBits * static_cast<float>(a_bit());
    for (std::size_t i = 0; i < kNumbers; ++i) {
      const float d = networks_.numbers()[i] - base.numbers()[i], size = std::abs(d);
      constexpr float kNothing = 1e-4f;  // smooth where the sign changes
      gradient.numbers()[i] += scale * d / ((size + kNothing) * (size + kSmallChange));
    }
  }

  // Where a quality is asked for, lambda may be larger by now than one that is worth the networks' changes to
  // it.
  void freeze() {
    const double least = options_.psnr ? std::min(*options_.psnr, psnr_) - 1 : 0;
    for (;; lambda_ /= 4) {
      coded_ = code_networks(base_, networks_, learner_, lambda_);
      if (!options_.psnr) break;
      const Cost cost = learner_.measure(codec::to_floats(coded_->networks), {.soft = false});
      if (decibels(cost.square_error) >= least || lambda_ < 4 * kLeastLambda) break;
    }
    networks_ = codec::to_floats(coded_->networks);
    network_bits_ = coded_->bits;
  }

  double a_bit() const { return lambda_ / learner_.pixels(); }

  // Measures what the latents are rounded to, and steers lambda towards what was asked for. What is not
  // learned yet is expected as pictures usually learn it: bits fall, and decibels grow.
  void look(double done) {
    const Cost cost = learner_.measure(networks_, {.soft = false});
    bpp_ = cost.bits / learner_.pixels();
    psnr_ = decibels(cost.square_error);
    if (!coded_) network_bits_ = round_networks(base_, networks_, kUsualShift).bits;
    if (done < kSteersFrom || done > kSteersUpTo) return;
    const double left = std::pow(1 - done, 1.5);
    const double more = options_.psnr ? (psnr_ + 1.3 * left - *options_.psnr) / 10 * std::numbers::ln10
                                      : std::log(bpp_ / (1 + 0.4 * left) / target());
    lambda_ = std::clamp(lambda_ * std::exp(kGain * std::clamp(more, -1.0, 1.0)), kLeastLambda, kMostLambda);
  }

  // What is left for the latents.
  double target() const {
    return std::max(options_.bits_a_pixel - network_bits_ / learner_.pixels(), 0.3 * options_.bits_a_pixel);
  }

  PhotographOptions options_;
  FunctionRef<bool(const PackProgress&)> heard_;
  bool goes_on_ = true;
  const std::vector<std::uint8_t>& pixels_;
  codec::ColourAxes axes_;
  // Computed before the learner takes its memory, and dropped when the latents begin.
  std::vector<float> colours_;
  std::vector<Tensor> features_;
  Learner learner_;
  double lambda_ = 0;
  int base_ = 0;
  Networks<float> networks_;
  double network_bits_ = 0;    // about, until they are coded
  double bpp_ = 0, psnr_ = 0;  // of the last look
  std::optional<CodedNetworks> coded_;
};

}  // namespace

void check_options(const PhotographOptions& options) {
  const auto refuse = [](const std::string& why, const std::string& fix) {
    return ConfigError("cannot pack a picture", why, fix);
  };
  if (options.psnr && !(*options.psnr >= kLeastPsnr && *options.psnr <= kMostPsnr))
    throw refuse(
        str("it shall have ", *options.psnr, " dB; ", kLeastPsnr, " to ", kMostPsnr, " are possible"),
        "ask for 30 to 42");
  if (!options.psnr && !(options.bits_a_pixel >= kLeastBits && options.bits_a_pixel <= kMostBits))
    throw refuse(str("it shall have ", options.bits_a_pixel, " bits a pixel; ", kLeastBits, " to ", kMostBits,
                     " are possible"),
                 "ask for 0.1 to 2");
  if (options.steps < 1)
    throw refuse(str("it shall learn for ", options.steps, " steps"), "ask for 1 or more");
}

PackedPhotograph pack_photograph(Size size, const std::vector<std::uint8_t>& pixels,
                                 const PhotographOptions& options,
                                 FunctionRef<bool(const PackProgress&)> heard) {
  check_options(options);
  Packer packer(size, pixels, options, heard);
  packer.learn();
  return packer.write();
}

}  // namespace veldt::pack
