// Reads pictures and sounds line by line as levels, and between their samples by cubics.
#include "veldt/field/signal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kSampleGrain = 1 << 14;  // samples per task

// A byte as in io::read_image(); a sound's sample as a share of its peak.
float level_of(std::uint8_t sample, float) { return static_cast<float>(sample) / 255.0f; }
float level_of(float sample, float scale) { return sample * scale; }

// Writes `count` lines of `length` samples; line i comes from line place(i) of `samples`.
template <class T, class Place>
void copy_lines(const Tensor& samples, std::int64_t length, std::int64_t count, float scale,
                const Place& place, float* to) {
  const T* from = samples.data<T>();
  parallel_for(count, std::max<std::int64_t>(1, kSampleGrain / length),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const T* line = from + place(i) * length;
                   for (std::int64_t j = 0; j < length; ++j) to[i * length + j] = level_of(line[j], scale);
                 }
               });
}

template <class Place>
Tensor lines(const Tensor& samples, const Shape& shape, std::int64_t length, double peak,
             const Place& place) {
  const Tensor out = empty(shape);
  const std::int64_t count = shape[0];
  if (samples.dtype() == DType::u8)
    copy_lines<std::uint8_t>(samples, length, count, 1, place, out.data<float>());
  else
    copy_lines<float>(samples, length, count, peak > 0 ? static_cast<float>(1 / peak) : 1.0f, place,
                      out.data<float>());
  return out;
}

// The colour of a fully transparent pixel is invisible, but would show between it and its neighbours: it gets
// the colour of the nearest visible pixel.
template <class T> Tensor with_colours_spread(const Tensor& picture) {
  const std::int64_t height = picture.size(0), width = picture.size(1), channels = picture.size(2);
  const Tensor out = empty(picture.shape(), picture.dtype());
  std::copy_n(picture.data<T>(), picture.numel(), out.data<T>());
  T* const levels = out.data<T>();
  const auto at = [&](std::int64_t pixel) { return levels + pixel * channels; };
  std::vector<bool> has_colour(static_cast<std::size_t>(height * width));
  std::vector<std::int64_t> queue;  // in the order of their distance
  for (std::int64_t i = 0; i < height * width; ++i)
    if (at(i)[channels - 1] > T(0)) {
      has_colour[static_cast<std::size_t>(i)] = true;
      queue.push_back(i);
    }
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const std::int64_t from = queue[next], y = from / width, x = from % width;
    for (const auto& [to_y, to_x] : {std::pair{y - 1, x}, {y + 1, x}, {y, x - 1}, {y, x + 1}}) {
      if (to_y < 0 || to_y >= height || to_x < 0 || to_x >= width) continue;
      const std::int64_t to = to_y * width + to_x;
      if (has_colour[static_cast<std::size_t>(to)]) continue;
      has_colour[static_cast<std::size_t>(to)] = true;
      std::copy_n(at(from), channels - 1, at(to));
      queue.push_back(to);
    }
  }
  return out;
}

template <class T> bool has_clear_pixel(const Tensor& picture) {
  const std::int64_t channels = picture.size(2);
  const T* const levels = picture.data<T>();
  for (std::int64_t i = channels - 1; i < picture.numel(); i += channels)
    if (levels[i] == T(0)) return true;
  return false;
}

// The picture itself if it has no clear pixels.
template <class T> Tensor with_visible_colours(const Tensor& picture) {
  const bool has_alpha = picture.size(2) == 2 || picture.size(2) == 4;
  return has_alpha && has_clear_pixel<T>(picture) ? with_colours_spread<T>(picture) : picture;
}

// Whether all levels are multiples of 1/255, as floats.
bool has_bytes(const Tensor& levels) {
  const float* const v = levels.data<float>();
  return std::all_of(v, v + levels.numel(),
                     [](float level) { return std::abs(level * 255 - std::round(level * 255)) < 1e-4f; });
}

// The weights of the samples at -1, 0, 1 and 2 for the place t between the two in the middle.
std::array<float, 4> cubic_weights(float t) {
  const float u = 1 - t;
  return {-0.5f * t * u * u, 1 - t * t * (2.5f - 1.5f * t), 1 - u * u * (2.5f - 1.5f * u), -0.5f * u * t * t};
}

// The four nearest samples along an axis of n, and their weights.
struct BilinearTaps {
  BilinearTaps(double position, std::int64_t n) {
    const double first = std::floor(position - 0.5);
    weight = cubic_weights(static_cast<float>(position - 0.5 - first));
    for (std::size_t i = 0; i < 4; ++i)
      at[i] = std::clamp<std::int64_t>(static_cast<std::int64_t>(first) - 1 + static_cast<std::int64_t>(i), 0,
                                       n - 1);
  }
  std::array<std::int64_t, 4> at;
  std::array<float, 4> weight;
};

}  // namespace

Signal::Signal(const Tensor& picture) {
  if (picture.rank() != 3 || (picture.dtype() != DType::f32 && picture.dtype() != DType::u8) ||
      picture.numel() == 0)
    throw ShapeError(str("cannot fit a tensor of ", picture.dtype(), ' ', picture.shape()),
                     "a picture is f32 or u8 [height, width, channels] and not empty",
                     "read one with io::read_image()");
  const Tensor given = contiguous(picture.detach());
  samples_ = given.dtype() == DType::u8 ? with_visible_colours<std::uint8_t>(given)
                                        : with_visible_colours<float>(given);
  bits_ = samples_.dtype() == DType::u8 || has_bytes(samples_) ? 8 : 16;
}

Signal Signal::sound(const Tensor& samples, std::int64_t rate) {
  if (samples.rank() != 2 || samples.dtype() != DType::f32 || samples.numel() == 0)
    throw ShapeError(str("cannot fit a tensor of ", samples.dtype(), ' ', samples.shape(), " as a sound"),
                     "a sound is f32 [frames, channels] and not empty", "read one with io::read_sound()");
  if (rate < 1)
    throw ConfigError(str("a sound cannot have ", rate, " frames a second"), "there is 1 or more",
                      "give the rate that it was recorded with");
  Signal signal;
  signal.samples_ = reshape(contiguous(samples.detach()), {samples.size(0), 1, samples.size(1)});
  signal.rate_ = rate;
  const float* at = signal.samples_.data<float>();
  double peak = 0, squares = 0;
  for (std::int64_t i = 0; i < samples.numel(); ++i) {
    if (!std::isfinite(at[i]))
      throw Error("cannot fit a sound with a sample that is not a number",
                  str("frame ", i / samples.size(1), " holds ", at[i]), "check the source of the sound");
    peak = std::max(peak, std::abs(static_cast<double>(at[i])));
    squares += static_cast<double>(at[i]) * static_cast<double>(at[i]);
  }
  signal.peak_ = peak;
  signal.power_ = peak > 0 ? squares / static_cast<double>(samples.numel()) / (peak * peak) : 0;
  return signal;
}

Tensor Signal::read(std::int64_t first, std::int64_t count) const {
  return lines(samples_, {count, columns(), channels()}, columns() * channels(), peak_,
               [first](std::int64_t i) { return first + i; });
}

Tensor Signal::at(const Tensor& indices) const {
  const auto* index = indices.data<std::int64_t>();
  return lines(samples_, {indices.numel(), channels()}, channels(), peak_,
               [index](std::int64_t i) { return index[i]; });
}

void Signal::between(const double* positions, std::int64_t n, float* to) const {
  const std::int64_t count = channels();
  const auto read = [&](const auto* samples, float scale) {
    parallel_for(n, kSampleGrain / 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        const BilinearTaps across(positions[2 * p], columns()), down(positions[2 * p + 1], rows());
        float* const out = to + p * count;
        std::fill_n(out, count, 0.0f);
        for (std::size_t i = 0; i < 4; ++i)
          for (std::size_t j = 0; j < 4; ++j) {
            const auto* pixel = samples + (down.at[i] * columns() + across.at[j]) * count;
            const float weight = down.weight[i] * across.weight[j];
            for (std::int64_t c = 0; c < count; ++c) out[c] += weight * level_of(pixel[c], scale);
          }
      }
    });
  };
  if (samples_.dtype() == DType::u8)
    read(samples_.data<std::uint8_t>(), 1);
  else
    read(samples_.data<float>(), peak_ > 0 ? static_cast<float>(1 / peak_) : 1.0f);
}

double decibels(const Signal& signal, double mean_squared_error) {
  // Silence is drawn as silence, whatever the network's output: its peak is 0.
  if (signal.power() == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal.power() / mean_squared_error);
}

}  // namespace veldt::field
