// Learns networks for packed photographs to begin with (veldt/codec/base_networks.h): crops of many pictures,
// each with latents of its own, and networks in common.
//   bench_packing_base LAMBDA PASSES CROPS FROM OUT PICTURE...
// LAMBDA: of learner.h's loss. PASSES: over all crops of 256 x 256, which are taken from the pictures in
// turn, at half of their size and at their own. FROM: the number of base networks to begin with, or a file
// that this program wrote. OUT: gets base64, a line of base_networks_texts.cpp each 100 characters.
// Prints the loss of each tenth, and at the end that of rounded latents with the networks as OUT has them.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "veldt/codec/base_networks.h"
#include "veldt/codec/networks_code.h"
#include "veldt/core/base64.h"
#include "veldt/pack/learner.h"
#include "veldt/pack/network_adam.h"
#include "veldt/veldt.h"

using namespace veldt;
using codec::Networks;

namespace {

constexpr std::int64_t kSide = 256;
constexpr std::size_t kBatch = 12;  // crops between two steps of the networks
constexpr double kLatentRate = 0.12, kNetworkRate = 6e-3;
constexpr codec::Shifts kShifts{};  // whole numbers as they are

Networks<float> networks_of(const std::string& from) {
  for (int i = 0; i < codec::kBaseNetworks; ++i)
    if (from == std::to_string(i)) return codec::to_floats(codec::base_networks(i));
  std::ifstream file(from);
  std::string text;
  for (std::string line; std::getline(file, line);) text += line;
  const std::optional<std::string> decoded = from_base64(text);
  if (text.empty() || !decoded)
    throw ConfigError("cannot begin with " + from, "it is neither a base network nor a file of one",
                      str("give 0 to ", codec::kBaseNetworks - 1, ", or what this program wrote"));
  const std::string& bytes = *decoded;
  codec::RangeDecoder in(bytes);
  return codec::to_floats(codec::decode_networks(in, Networks<std::int32_t>{}));
}

Networks<std::int32_t> write(const Networks<float>& networks, const std::string& path) {
  const Networks<std::int32_t> whole =
      codec::rounded(Networks<std::int32_t>{}, codec::to_integers(networks), kShifts);
  codec::RangeEncoder out;
  codec::encode_networks(out, Networks<std::int32_t>{}, whole, kShifts);
  const std::string text = to_base64(out.finish());
  std::ofstream file(path);
  for (std::size_t i = 0; i < text.size(); i += 100) file << text.substr(i, 100) << '\n';
  return whole;
}

std::deque<pack::Learner> crops_of(const std::vector<std::string>& paths, std::size_t count) {
  Rng rng(7);
  std::deque<pack::Learner> crops;
  for (std::size_t i = 0; crops.size() < count; ++i) {
    if (i >= 2 * paths.size() && crops.empty())
      throw ConfigError("cannot take crops", "no picture has three channels and 256 x 256 pixels",
                        "give photographs");
    Tensor picture = to(io::read_image(paths[i % paths.size()]), DType::f32);  // [height, width, 3], 0 to 1
    if (picture.size(2) != 3) continue;
    if (i / paths.size() % 2 == 0 && std::min(picture.size(0), picture.size(1)) >= 2 * kSide)
      picture = data::resample(picture, {picture.size(1) / 2, picture.size(0) / 2}, data::Filter::lanczos3);
    if (std::min(picture.size(0), picture.size(1)) < kSide) continue;
    const auto at = [&](std::int64_t dim) {
      return rng.next_below(static_cast<std::uint64_t>(picture.size(dim) - kSide + 1));
    };
    const auto y = static_cast<std::int64_t>(at(0)), x = static_cast<std::int64_t>(at(1));
    const Tensor crop = contiguous(slice(slice(picture, 0, y, y + kSide), 1, x, x + kSide));
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(crop.numel()));
    for (std::size_t p = 0; p < pixels.size(); ++p)
      pixels[p] = static_cast<std::uint8_t>(std::lround(std::clamp(crop.data<float>()[p], 0.0f, 1.0f) * 255));
    crops.emplace_back(Size{kSide, kSide}, pixels);
  }
  return crops;
}

void learn(Networks<float>& networks, std::deque<pack::Learner>& crops, double lambda, std::int64_t passes) {
  pack::NetworkAdam adam;
  const auto begin = std::chrono::steady_clock::now();
  std::uint32_t seed = 1;
  double bits = 0, error = 0;
  std::int64_t counted = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const double done = static_cast<double>(pass) / static_cast<double>(passes);
    const double falling = std::max(0.5 * (1 + std::cos(std::numbers::pi * done)), 0.01);
    for (std::size_t first = 0; first < crops.size(); first += kBatch) {
      Networks<float> gradient{};
      const std::size_t end = std::min(first + kBatch, crops.size());
      for (std::size_t i = first; i < end; ++i) {
        const pack::Rounding how{.temperature = static_cast<float>(0.35 - 0.27 * done),
                                 .noise = static_cast<float>(0.22 - 0.07 * done),
                                 .seed = seed++};
        const pack::Cost cost = crops[i].differentiate(networks, how, lambda, &gradient);
        crops[i].update(kLatentRate * std::max(falling, 0.05), lambda);
        bits += cost.bits / crops[i].pixels();
        error += cost.square_error;
        ++counted;
      }
      for (float& g : gradient.numbers()) g /= static_cast<float>(end - first);
      adam.step(networks, gradient, kNetworkRate * falling);
    }
    if ((pass + 1) % std::max<std::int64_t>(passes / 10, 1) != 0) continue;
    const auto n = static_cast<double>(counted);
    std::printf("%lld passes, %.0f s: loss %.4f, %.4f bits a pixel, %.2f dB\n",
                static_cast<long long>(pass + 1),
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
                1e3 * (error + lambda * bits) / n, bits / n, -10 * std::log10(error / n));
    std::fflush(stdout);
    bits = error = 0;
    counted = 0;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr, "usage: bench_packing_base LAMBDA PASSES CROPS FROM OUT PICTURE...\n");
    return 2;
  }
  try {
    NoGrad off;
    const double lambda = std::atof(argv[1]);
    const std::vector<std::string> paths(argv + 6, argv + argc);
    std::deque<pack::Learner> crops = crops_of(paths, static_cast<std::size_t>(std::atoi(argv[3])));
    Networks<float> networks = networks_of(argv[4]);
    learn(networks, crops, lambda, std::atoi(argv[2]));
    const Networks<float> whole = codec::to_floats(write(networks, argv[5]));
    double bits = 0, error = 0;
    for (pack::Learner& crop : crops) {
      const pack::Cost cost = crop.measure(whole, {.soft = false});
      bits += cost.bits / crop.pixels() / static_cast<double>(crops.size());
      error += cost.square_error / static_cast<double>(crops.size());
    }
    std::printf("rounded: loss %.4f, %.4f bits a pixel, %.2f dB\n", 1e3 * (error + lambda * bits), bits,
                -10 * std::log10(error));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
