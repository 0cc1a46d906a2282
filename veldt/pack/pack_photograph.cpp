// The loss is error + lambda * bits a pixel. lambda follows the size that was asked for while rates are high;
// then the rates fall along a cosine, and the rounding of the latents becomes harder (C3: Kim et al. 2023;
// Cool-chic 4). At the end each group of numbers of the networks gets the coarsest steps that are worth it.
#include "veldt/pack/pack_photograph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "veldt/codec/base_networks.h"
#include "veldt/codec/photograph.h"
#include "veldt/core/error.h"
#include "veldt/pack/learner.h"

namespace veldt::pack {
namespace {

using codec::kGroups;
using codec::kNumbers;
using codec::Networks;

constexpr double kLatentRate = 0.08, kNetworkRate = 1e-3;
constexpr float kNetworkBeta1 = 0.9f, kNetworkBeta2 = 0.95f;
constexpr double kMeasured = 0.5;   // the share of the steps after which the networks' size is measured
constexpr double kSteering = 0.85;  // and in which lambda follows the size
constexpr int kFinestShift = 3;
constexpr std::size_t kGroupsOfAModel = 7;
constexpr double kLeastLambda = 1e-6, kMostLambda = 0.5;

double decibels(double square_error) {
  return square_error > 0 ? -10 * std::log10(square_error) : std::numeric_limits<double>::infinity();
}

// Adam on the networks.
class NetworkSteps {
 public:
  void step(Networks<float>& networks, const Networks<float>& gradient, double rate) {
    ++steps_;
    const auto n = static_cast<double>(steps_);
    const auto first = static_cast<float>(rate / (1 - std::pow(static_cast<double>(kNetworkBeta1), n)));
    const auto second = static_cast<float>(1 / (1 - std::pow(static_cast<double>(kNetworkBeta2), n)));
    for (std::size_t i = 0; i < kNumbers; ++i) {
      const float g = gradient.numbers()[i];
      mean_[i] += (1 - kNetworkBeta1) * (g - mean_[i]);
      square_[i] += (1 - kNetworkBeta2) * (g * g - square_[i]);
      networks.numbers()[i] -= first * mean_[i] / (std::sqrt(square_[i] * second) + 1e-12f);
    }
  }

 private:
  std::vector<float> mean_ = std::vector<float>(kNumbers), square_ = std::vector<float>(kNumbers);
  std::int64_t steps_ = 0;
};

class Packer {
 public:
  Packer(Size size, const std::vector<std::uint8_t>& pixels, const PhotographOptions& options)
      : options_(options),
        learner_(size, pixels),
        networks_(codec::to_floats(codec::base_networks(0))),
        // Where a bit a pixel costs about as much as pictures of this size usually gain by it.
        lambda_(std::clamp(options.psnr ? 4 * std::pow(10, -*options.psnr / 10)
                                        : 4e-4 * std::pow(options.bits_a_pixel, -1.6),
                           kLeastLambda, kMostLambda)) {}

  void learn(FunctionRef<bool(const PackProgress&)> heard) {
    NetworkSteps steps;
    for (std::int64_t s = 0; s < options_.steps; ++s) {
      const double done = static_cast<double>(s) / static_cast<double>(options_.steps);
      const double falling = 0.5 * (1 + std::cos(std::numbers::pi * done));
      Rounding how;
      how.temperature = static_cast<float>(0.35 - 0.27 * done);
      how.noise = static_cast<float>(0.22 - 0.07 * done);
      how.seed = options_.seed + static_cast<std::uint32_t>(s);
      Networks<float> gradient{};
      const Cost cost = learner_.measure(networks_, how, lambda_, &gradient);
      learner_.update(kLatentRate * std::max(falling, 0.003), lambda_);
      steps.step(networks_, gradient, kNetworkRate * std::max(falling, 0.003));
      const double bpp = cost.bits / learner_.pixels();
      if (s == static_cast<std::int64_t>(kMeasured * static_cast<double>(options_.steps)))
        network_bits_ = bits_of(coded_networks());
      steer(s, bpp, decibels(cost.square_error));
      if (!heard(
              {s + 1, options_.steps, bpp + network_bits_ / learner_.pixels(), decibels(cost.square_error)}))
        break;
    }
  }

  PackedPhotograph write() {
    const Coded coded = coded_networks();
    PackedPhotograph result;
    result.body = write_photograph(learner_.rounded(), coded.networks, coded.shifts, {});
    const codec::PhotographReader reader(result.body, learner_.size(), "the picture", false);
    result.psnr =
        decibels(learner_.square_error(reader.pixels({0, 0, learner_.size().width, learner_.size().height})));
    return result;
  }

 private:
  // What a file would hold of the networks.
  struct Coded {
    Networks<std::int32_t> networks;
    codec::Shifts shifts{};
  };

  // Each group of numbers, one after the other, in the coarsest steps that are worth it. A group belongs to a
  // model, or to the synthesis, and nothing else is measured again.
  Coded coded_networks() {
    const Networks<std::int32_t>& base = codec::base_networks(0);
    const Networks<std::int32_t> learned = codec::to_integers(networks_);
    Coded best;
    best.shifts.fill(kFinestShift);
    best.networks = rounded(base, learned, best.shifts);
    learner_.measure(codec::to_floats(best.networks), {.soft = false}, lambda_, nullptr);
    std::array<double, codec::kModels + 1> parts;  // of the loss
    for (std::size_t part = 0; part < parts.size(); ++part) parts[part] = part_of_loss(best.networks, part);
    double loss = std::accumulate(parts.begin(), parts.end(), a_bit() * bits_of(best));
    for (std::size_t g = 0; g < kGroups; ++g) {
      const std::size_t part = std::min<std::size_t>(g / kGroupsOfAModel, codec::kModels);
      // The last one is the base itself.
      for (const int shift : {4, 5, 6, 7, 8, 10, 12, 14, codec::kMostShift + 1}) {
        Coded tried = best;
        tried.shifts[g] = std::min(shift, codec::kMostShift);
        const Networks<std::int32_t> from =
            shift > codec::kMostShift ? base : rounded(base, learned, tried.shifts);
        const codec::Group group = codec::groups()[g];
        std::copy_n(from.numbers().begin() + static_cast<std::ptrdiff_t>(group.first), group.count,
                    tried.networks.numbers().begin() + static_cast<std::ptrdiff_t>(group.first));
        std::array<double, codec::kModels + 1> now = parts;
        now[part] = part_of_loss(tried.networks, part);
        const double all = std::accumulate(now.begin(), now.end(), a_bit() * bits_of(tried));
        if (all >= loss) continue;
        loss = all;
        parts = now;
        best = tried;
      }
    }
    return best;
  }

  double a_bit() const { return lambda_ / learner_.pixels(); }

  double part_of_loss(const Networks<std::int32_t>& networks, std::size_t part) {
    const Networks<float> floats = codec::to_floats(networks);
    return part < codec::kModels ? a_bit() * learner_.bits_again(static_cast<int>(part), floats.models[part])
                                 : learner_.error_again(floats.synthesis);
  }

  void steer(std::int64_t step, double bpp, double psnr) {
    constexpr std::int64_t kBegin = 50;
    if (step < kBegin || static_cast<double>(step) > kSteering * static_cast<double>(options_.steps)) return;
    // The latents follow a change of lambda within some tens of steps.
    const double more =
        options_.psnr ? (psnr - *options_.psnr) / 10 * std::numbers::ln10 : std::log(bpp / target());
    const double off = std::clamp(more, -1.0, 1.0);
    const double gain = std::clamp(15 / static_cast<double>(options_.steps), 0.005, 0.06);
    lambda_ = std::clamp(lambda_ * std::exp(gain * off), kLeastLambda, kMostLambda);
  }

  // What is left for the latents.
  double target() const {
    return std::max(options_.bits_a_pixel - network_bits_ / learner_.pixels(), 0.3 * options_.bits_a_pixel);
  }

  static double bits_of(const Coded& coded) {
    codec::RangeEncoder out;
    encode_networks(out, codec::base_networks(0), coded.networks, coded.shifts);
    return 8 * static_cast<double>(out.finish().size());
  }

  PhotographOptions options_;
  Learner learner_;
  Networks<float> networks_;
  double lambda_;
  double network_bits_ = 8 * 1000;  // until they are measured
};

}  // namespace

PackedPhotograph pack_photograph(Size size, const std::vector<std::uint8_t>& pixels,
                                 const PhotographOptions& options,
                                 FunctionRef<bool(const PackProgress&)> heard) {
  if (!(options.bits_a_pixel >= 0.01 && options.bits_a_pixel <= 8))
    throw ConfigError("cannot pack a picture",
                      str("it shall have ", options.bits_a_pixel, " bits a pixel; 0.01 to 8 are possible"),
                      "ask for 0.1 to 2");
  if (options.psnr && !(*options.psnr >= 20 && *options.psnr <= 60))
    throw ConfigError("cannot pack a picture",
                      str("it shall have ", *options.psnr, " dB; 20 to 60 are possible"), "ask for 30 to 42");
  if (options.steps < 1)
    throw ConfigError("cannot pack a picture", str("it shall learn for ", options.steps, " steps"),
                      "ask for 1 or more");
  Packer packer(size, pixels, options);
  packer.learn(heard);
  return packer.write();
}

}  // namespace veldt::pack
