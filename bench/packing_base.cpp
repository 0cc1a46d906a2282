// Learns what packed photographs begin with: the base networks (veldt/codec/base_networks.h), and the
// analysis that finds latents for them (veldt/pack/analysis.h).
//   bench_packing_base MODE STEPS OUT PICTURE...
// MODE: `both`, crops of photographs pass through the analysis, and the gradients of learner.h's loss reach
// it and the networks; `analysis`, the same with the networks as they are; `networks`, each of 72 crops has
// latents of its own, which are learned as those of a file are, and the networks with them. STEPS: each of
// one crop, which the networks of all lambdas see; of `networks`, passes over all crops. OUT: a folder; gets
// base0 to base4, lines of base_networks_texts.cpp, and analysis.base64. All go on from what the library has,
// but `both` begins the analysis by chance. Prints the loss at each lambda, with softly rounded latents and
// with whole ones.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "veldt/codec/base_networks.h"
#include "veldt/codec/networks_code.h"
#include "veldt/core/base64.h"
#include "veldt/pack/analysis.h"
#include "veldt/pack/learner.h"
#include "veldt/pack/network_adam.h"
#include "veldt/veldt.h"

using namespace veldt;
using codec::kBaseNetworks;
using codec::Networks;
using pack::kBaseLambdas;

namespace {

// Of crops: many small ones, and at the end large ones, in which the coarse levels have more than an edge.
constexpr std::array<std::int64_t, 2> kSides = {128, 256};
constexpr double kSmallOnes = 0.8;
// Of the pictures' sizes: photographs from files were compressed, which a smaller size does not show.
constexpr std::array<double, 3> kScales = {0.75, 0.5, 0.36};
constexpr double kAnalysisRate = 3e-3, kFinishingRate = 1e-3, kNetworkRate = 2e-3;
constexpr std::int64_t kAlone = 500;  // steps of the analysis before the networks follow
// Of `networks`.
constexpr std::size_t kOwn = 72,
                      kBatch = 12;  // crops, and how many there are between two steps of the networks
constexpr double kOwnLatentRate = 0.08, kOwnNetworkRate = 2e-3;

struct Crop {
  std::vector<std::uint8_t> pixels;
  Tensor picture;  // [1, 3, side, side], 0 to 1
};

class Crops {
 public:
  explicit Crops(std::span<char*> paths) {
    for (const char* path : paths) {
      const Tensor whole = to(io::read_image(path), DType::f32);  // [height, width, channels], 0 to 1
      if (whole.size(2) != 3) continue;
      for (const double scale : kScales) {
        const auto smaller = [&](int dim) {
          return std::lround(static_cast<double>(whole.size(dim)) * scale);
        };
        const Size size{smaller(1), smaller(0)};
        if (std::min(size.width, size.height) < kSides.back()) continue;
        const Tensor picture = clamp(data::resample(whole, size, data::Filter::lanczos3), 0, 1);
        pictures_.push_back(to(round(picture * 255), DType::u8));
      }
    }
    if (pictures_.empty())
      throw ConfigError("cannot take crops", "no picture has three channels and 341 x 341 pixels",
                        "give photographs");
  }

  Crop next(std::int64_t side) {
    const Tensor& from = pictures_[rng_.next_below(pictures_.size())];
    const auto at = [&](std::int64_t dim) {
      return static_cast<std::int64_t>(
          rng_.next_below(static_cast<std::uint64_t>(from.size(dim) - side + 1)));
    };
    const std::int64_t y = at(0), x = at(1);
    Tensor crop = narrow(narrow(from, 0, y, side), 1, x, side);
    if (rng_.next_below(2) == 1) crop = flip(crop, {1});
    if (rng_.next_below(2) == 1) crop = transpose(crop, 0, 1);
    crop = contiguous(crop);
    const auto* bytes = crop.data<std::uint8_t>();
    return {{bytes, bytes + crop.numel()},
            unsqueeze(contiguous(permute(to(crop, DType::f32) / 255.0, {2, 0, 1})), 0)};
  }

 private:
  std::vector<Tensor> pictures_;
  Rng rng_{7};
};

// Of one of the lambdas.
class Base {
 public:
  explicit Base(int which) : which_(which), networks_(codec::to_floats(codec::base_networks(which))) {
    for (const std::int64_t side : kSides)
      learners_.emplace_back(Size{side, side},
                             std::vector<std::uint8_t>(static_cast<std::size_t>(3 * side * side)));
  }

  // Passes over crops with latents of their own.
  void learn(const std::vector<Crop>& crops, std::int64_t passes) {
    std::vector<pack::Learner> own;
    for (const Crop& crop : crops) {
      own.emplace_back(Size{crop.picture.size(3), crop.picture.size(2)}, crop.pixels);
      const pack::Analysis& analysis = pack::learned_analysis();
      begin_with(own.back(), analysis.latents(analysis.features(crop.picture), which_));
    }
    std::uint32_t seed = 1;
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      const double done = static_cast<double>(pass) / static_cast<double>(passes);
      const double warm = std::min(1.0, static_cast<double>(pass + 1) / 10);
      const double falling = warm * std::max(0.5 * (1 + std::cos(std::numbers::pi * done)), 0.01);
      for (std::size_t first = 0; first < own.size(); first += kBatch) {
        Networks<float> gradient{};
        const std::size_t end = std::min(first + kBatch, own.size());
        for (std::size_t i = first; i < end; ++i) {
          const pack::Rounding how{.temperature = static_cast<float>(0.35 - 0.27 * done),
                                   .noise = static_cast<float>(0.22 - 0.07 * done),
                                   .seed = seed++};
          soft_ += loss_of(own[i].differentiate(networks_, how, lambda(), &gradient), own[i].pixels());
          own[i].update(kOwnLatentRate * std::max(falling, 0.05), lambda());
          ++count_;
        }
        for (float& g : gradient.numbers()) g /= static_cast<float>(end - first);
        adam_.step(networks_, gradient, kOwnNetworkRate * falling);
      }
      if ((pass + 1) % std::max<std::int64_t>(passes / 4, 1) == 0) print(true);
    }
  }

  // A step of the networks at `rate`; returns a tensor whose gradient is that of the loss by the latents, as
  // large at each lambda.
  Tensor step(const Crop& crop, const std::vector<Tensor>& latents, const pack::Rounding& how, double rate) {
    pack::Learner& learner = learners_[crop.picture.size(2) == kSides[0] ? 0 : 1];
    learner.look_at(crop.pixels);
    begin_with(learner, latents);
    Networks<float> gradient{};
    soft_ += loss_of(learner.differentiate(networks_, how, lambda(), &gradient), learner.pixels());
    if (count_++ % 10 == 0) whole_ += loss_of(learner.measure(networks_, {.soft = false}), learner.pixels());
    Tensor sum_of_levels;
    for (int l = 0; l < codec::kLevels; ++l) {
      const Tensor& level = latents[static_cast<std::size_t>(l)];
      const std::vector<float> slopes = learner.gradient(l);
      const Tensor part = sum(level * Tensor::from<float>(level.shape(), std::span(slopes)));
      sum_of_levels = sum_of_levels.defined() ? sum_of_levels + part : part;
    }
    adam_.step(networks_, gradient, rate);
    return sum_of_levels / std::sqrt(lambda());
  }

  void print(bool is_line = false) {
    const auto n = static_cast<double>(count_);
    if (is_line)
      std::printf("lambda %g: %.4f\n", lambda(), 1e3 * soft_ / n);
    else
      std::printf(" | %.4f whole %.4f", 1e3 * soft_ / n, 1e3 * whole_ / std::ceil(n / 10));
    std::fflush(stdout);
    soft_ = whole_ = 0;
    count_ = 0;
  }

  void write(const std::string& folder) const {
    const codec::Shifts shifts{};  // whole numbers as they are
    const Networks<std::int32_t> nothing{},
        whole = codec::rounded(nothing, codec::to_integers(networks_), shifts);
    codec::RangeEncoder out;
    codec::encode_networks(out, nothing, whole, shifts);
    const std::string text = to_base64(out.finish());
    std::ofstream file(str(folder, "/base", which_));
    for (std::size_t i = 0; i < text.size(); i += 100) file << text.substr(i, 100) << '\n';
  }

 private:
  static void begin_with(pack::Learner& learner, const std::vector<Tensor>& latents) {
    for (int l = 0; l < codec::kLevels; ++l) {
      const Tensor level = contiguous(latents[static_cast<std::size_t>(l)]);
      learner.begin_with(l, {level.data<float>(), static_cast<std::size_t>(level.numel())});
    }
  }
  double lambda() const { return kBaseLambdas[static_cast<std::size_t>(which_)]; }
  double loss_of(const pack::Cost& cost, double pixels) const {
    return cost.square_error + lambda() * cost.bits / pixels;
  }

  int which_;
  Networks<float> networks_;
  pack::NetworkAdam adam_;
  std::vector<pack::Learner> learners_;  // one for each of kSides
  double soft_ = 0, whole_ = 0;
  std::int64_t count_ = 0;
};

void write(const std::vector<Base>& bases, const pack::Analysis& analysis, const std::string& folder) {
  for (const Base& base : bases) base.write(folder);
  std::ofstream(folder + "/analysis.base64") << to_text(analysis) << '\n';
}

void learn_networks(std::int64_t passes, const std::string& folder, Crops& crops) {
  const NoGrad off;
  std::vector<Crop> own;
  for (std::size_t i = 0; i < kOwn; ++i) own.push_back(crops.next(kSides.back()));
  std::vector<Base> bases;
  for (int i = 0; i < kBaseNetworks; ++i) bases.emplace_back(i);
  for (Base& base : bases) {
    base.learn(own, passes);
    write(bases, pack::learned_analysis(), folder);
  }
}

void learn_analysis(std::int64_t steps, const std::string& folder, Crops& crops, bool networks_too) {
  Rng rng(5);
  pack::Analysis analysis(rng);
  if (!networks_too) analysis.load_state_dict(pack::learned_analysis().named_parameters());
  const double rate = networks_too ? kAnalysisRate : kFinishingRate;
  optim::Adam adam(analysis.named_parameters(), {.lr = rate, .beta2 = 0.99});
  std::vector<Base> bases;
  for (int i = 0; i < kBaseNetworks; ++i) bases.emplace_back(i);
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t s = 0; s < steps; ++s) {
    const double done = static_cast<double>(s) / static_cast<double>(steps);
    const double falling = std::max(0.5 * (1 + std::cos(std::numbers::pi * done)), 0.01);
    const pack::Rounding how{.temperature = static_cast<float>(0.35 - 0.2 * done),
                             .noise = static_cast<float>(0.22 - 0.05 * done),
                             .seed = static_cast<std::uint32_t>(s)};
    const Crop crop = crops.next(kSides[done < kSmallOnes ? 0 : 1]);
    const std::vector<Tensor> features = analysis.features(crop.picture);
    Tensor loss;
    for (int i = 0; i < kBaseNetworks; ++i) {
      const Tensor part = bases[static_cast<std::size_t>(i)].step(
          crop, analysis.latents(features, i), how, networks_too && s >= kAlone ? kNetworkRate * falling : 0);
      loss = loss.defined() ? loss + part : part;
    }
    adam.zero_grad();
    loss.backward();
    adam.set_lr(rate * falling * std::min(1.0, static_cast<double>(s + 1) / 200));
    adam.step();
    if ((s + 1) % std::max<std::int64_t>(steps / 40, 1) != 0 && s + 1 != steps) continue;
    std::printf("%lld steps, %.0f s", static_cast<long long>(s + 1),
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    for (Base& base : bases) base.print();
    std::printf("\n");
    std::fflush(stdout);
    write(bases, analysis, folder);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (argc < 5 || (mode != "both" && mode != "analysis" && mode != "networks")) {
    std::fprintf(stderr, "usage: bench_packing_base both|analysis|networks STEPS OUT PICTURE...\n");
    return 2;
  }
  try {
    Crops crops({argv + 4, argv + argc});
    const std::int64_t steps = std::atoll(argv[2]);
    if (mode == "networks")
      learn_networks(steps, argv[3], crops);
    else
      learn_analysis(steps, argv[3], crops, mode == "both");
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
