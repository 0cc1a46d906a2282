// Computes the error of a sound's field at each frame, and plays the closed field through a sinc.
#include "veldt/field/sound_closing.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/field/sinc.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kBand = 1 << 16;  // fitted frames at a time
constexpr double kFar = 1e15;            // beyond this, places cannot be distinguished
// As shares of the peak: a quarter of a 16-bit step at every frame, and a fiftieth of the mean squared error
// of rounding to 16 bits, which is 0.09 dB.
constexpr double kSampleStep = 1.0 / (1 << 15), kMostLost = kSampleStep / 4,
                 kLost = kSampleStep * kSampleStep / 12 / 50;

// The values of a field without a closing at frames begin..end: [end - begin, channels].
Tensor frames_of(const Field& open, std::int64_t begin, std::int64_t end) {
  const auto length = static_cast<double>(open.options().height);
  RenderOptions how;
  how.region.y = static_cast<double>(begin) / length;
  how.region.height = static_cast<double>(end - begin) / length;
  const std::int64_t channels = open.options().channels;
  const Tensor out = empty({end - begin, channels});
  open.render_bands({1, end - begin}, how, [&](const Tensor& rows, std::int64_t first) {
    slice(out, 0, first, first + rows.size(0)).assign(reshape(rows, {rows.size(0), channels}));
    return true;
  });
  return out;
}

// The numbers of a closing at these frames, summed: [end - begin, channels].
Tensor closing_at(const Closing& closing, std::int64_t begin, std::int64_t end) {
  const Tensor numbers = to(contiguous(slice(closing.coefficients(), 1, begin, end)), DType::f32);
  return reshape(sum(numbers, {0}), {end - begin, numbers.size(3)});
}

}  // namespace

Closing close_sound(const Signal& sound, const Field& open) {
  NoGrad off;
  const std::int64_t frames = sound.rows(), channels = sound.channels();
  const Tensor lacking = empty({1, frames, 1, channels});
  for (std::int64_t begin = 0; begin < frames; begin += kBand) {
    const std::int64_t end = std::min(begin + kBand, frames);
    const Tensor wanted = reshape(sound.read(begin, end - begin), {end - begin, channels});
    slice(lacking, 1, begin, end)
        .assign(reshape(wanted - frames_of(open, begin, end), {1, end - begin, 1, channels}));
  }
  const Tensor numbers = to(lacking, DType::f16);
  const Tensor rest = lacking - to(numbers, DType::f32);
  const double largest = max(abs(rest)).item(), power = mean(square(rest)).item();
  if (largest <= kMostLost && power <= kLost) return Closing(numbers);
  return Closing(cat({numbers, to(rest, DType::f16)}, 0));
}

double fitted_a_frame(const FieldOptions& options, std::int64_t frames, const Region& region) {
  return static_cast<double>(options.height) * region.height / static_cast<double>(frames);
}

void play_closed(const Field& field, std::int64_t frames, const RenderOptions& how, const Field::Band& band) {
  NoGrad off;
  const Region& region = how.region;
  Field open = field;
  open.set_closing({});
  const std::int64_t fitted = field.options().height;
  const double step = fitted_a_frame(field.options(), frames, region);
  // Frame i is the middle of its cell of the lattice, for fitted and for drawn frames.
  const double first = region.y * static_cast<double>(fitted) + step / 2 - 0.5;
  if (!(std::abs(first) < kFar) || !(step * static_cast<double>(frames) < kFar))
    throw ConfigError("cannot play so far beyond the sound", str("it has ", fitted, " frames"),
                      "give a region near it");
  const SincResampler resampler(step);
  const auto reach = static_cast<double>(resampler.reach() + 1);
  // Enough at a time that reading the surrounding frames twice costs little.
  const auto most = static_cast<std::int64_t>(std::ceil((kBand + 4 * reach) / std::max(step, 1.0)));
  for (std::int64_t drawn = 0; drawn < frames; drawn += most) {
    if (!how.share.has(drawn / most)) continue;
    const std::int64_t count = std::min(most, frames - drawn);
    const double place = first + step * static_cast<double>(drawn);
    const auto begin = static_cast<std::int64_t>(
        std::clamp(std::floor(place - reach), 0.0, static_cast<double>(fitted - 1)));
    const auto end =
        static_cast<std::int64_t>(std::clamp(std::ceil(place + step * static_cast<double>(count) + reach),
                                             static_cast<double>(begin + 1), static_cast<double>(fitted)));
    const Tensor known = frames_of(open, begin, end) + closing_at(field.closing(), begin, end);
    const Tensor played = resampler.at(place, count, known, begin);
    if (!band(reshape(played, {count, 1, field.options().channels}), drawn)) return;
  }
}

}  // namespace veldt::field
