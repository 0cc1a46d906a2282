// Tabulates a sinc under the window of Kaiser (1974), and sums frames by its weights.
#include "veldt/field/sinc.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "veldt/core/threads.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

// By Kaiser's formulas (1974): flat up to 0.97 of half the rate, and 118 dB lower from 1.03 of it on.
constexpr double kSincReach = 128, kBeta = 12;
// Places per frame with tabulated weights; linear interpolation between them is exact to 116 dB.
constexpr double kPhases = 512;
// Rates below a thousandth are not realistic: the limit only bounds the memory of the weights.
constexpr double kWidest = 1024;
constexpr double kHair = 1e-6;             // of a phase: a place this close to a phase is that phase, rounded
constexpr std::int64_t kPlaceGrain = 256;  // places
constexpr std::size_t kLanes = 8;          // sums side by side; reach is a multiple of half of them

// The modified Bessel function of order 0, by its series.
double bessel(double x) {
  double sum = 1, term = 1;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= x * x / 4 / (k * k);
    sum += term;
  }
  return sum;
}

// sin(pi x) / (pi x) under Kaiser's window, and exactly 0 at integers other than 0.
double windowed_sinc(double x) {
  if (x == 0) return 1;
  const double nearest = std::round(x), share = x / kSincReach;
  if (x == nearest || std::abs(share) >= 1) return 0;
  const double sine = std::sin(std::numbers::pi * (x - nearest)) * (std::fmod(nearest, 2) != 0 ? -1 : 1);
  static const double peak = bessel(kBeta);
  return sine / (std::numbers::pi * x) * bessel(kBeta * std::sqrt(1 - share * share)) / peak;
}

float dot(const float* a, const float* b, std::size_t n) {
  std::array<float, kLanes> sums{};
  for (std::size_t i = 0; i < n; i += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) sums[k] += a[i + k] * b[i + k];
  float sum = 0;
  for (const float lane : sums) sum += lane;
  return sum;
}

}  // namespace

SincResampler::SincResampler(double step) : step_(step) {
  const double wide = std::clamp(step, 1.0, kWidest);
  reach_ = static_cast<std::int64_t>(std::ceil(kSincReach * wide / 4)) * 4;
  phases_ = static_cast<std::int64_t>(std::ceil(kPhases / wide));
  weights_.resize(static_cast<std::size_t>((phases_ + 1) * taps()));
  parallel_for(phases_ + 1, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * taps(); i < end * taps(); ++i) {
      const double behind = static_cast<double>(i / taps()) / static_cast<double>(phases_);
      const double frames = behind + static_cast<double>(reach_ - 1 - i % taps());
      weights_[static_cast<std::size_t>(i)] = static_cast<float>(windowed_sinc(frames / wide) / wide);
    }
  });
}

const float* SincResampler::weights(double behind, std::vector<float>& own) const {
  const double phase = behind * static_cast<double>(phases_), low = std::floor(phase + kHair);
  const float* const a = weights_.data() + static_cast<std::int64_t>(low) * taps();
  if (phase - low < kHair) return a;
  const auto share = static_cast<float>(phase - low);
  const float* const b = a + taps();
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = a[i] + share * (b[i] - a[i]);
  return own.data();
}

Tensor SincResampler::at(double first, std::int64_t count, const Tensor& frames, std::int64_t begin) const {
  const std::int64_t n = frames.size(0), channels = frames.size(1);
  const auto frame_before = [&](std::int64_t i) {
    return static_cast<std::int64_t>(std::floor(first + step_ * static_cast<double>(i)));
  };
  // Each channel by itself, from the first tap of the first place to the last one of the last.
  const std::int64_t from = frame_before(0) - reach_ + 1, to = frame_before(count - 1) + reach_ + 1;
  const Tensor lines = zeros({channels, to - from});
  const std::int64_t low = std::max(from, begin), high = std::min(to, begin + n);
  if (low < high)
    slice(lines, 1, low - from, high - from)
        .assign(permute(slice(frames, 0, low - begin, high - begin), {1, 0}));
  const Tensor out = empty({count, channels});
  parallel_for(count, kPlaceGrain, [&](std::int64_t first_place, std::int64_t end_place) {
    std::vector<float> between(static_cast<std::size_t>(taps()));
    for (std::int64_t i = first_place; i < end_place; ++i) {
      const std::int64_t before = frame_before(i);
      const double behind = first + step_ * static_cast<double>(i) - static_cast<double>(before);
      const float* const weighs = weights(behind, between);
      for (std::int64_t c = 0; c < channels; ++c) {
        const float* const line = lines.data<float>() + c * (to - from) + (before - reach_ + 1 - from);
        out.data<float>()[i * channels + c] = dot(weighs, line, between.size());
      }
    }
  });
  return out;
}

}  // namespace veldt::field
