// Averages a picture over the area of each pixel, and enlarges pictures by whole factors.
#include "veldt/field/areas.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "veldt/core/threads.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kLanczosReach = 3;  // of lanczos3, in pixels to either side
constexpr std::int64_t kTaps = 2 * kLanczosReach + 1;

// Rows that are worth a thread.
std::int64_t grain_of(std::int64_t row) { return std::max<std::int64_t>(1, (1 << 14) / row); }

// The weights of the pixels from kLanczosReach before to kLanczosReach after at each of the factor places
// within a pixel: [factor][kTaps]. Taken from the enlargement of a line that is 0 except for one 1.
std::vector<float> weights_of(std::int64_t factor, data::Filter filter) {
  constexpr std::int64_t kLength = 4 * kLanczosReach + 1, kMiddle = 2 * kLanczosReach;
  const Tensor line = zeros({1, kLength, 1});
  line.data<float>()[kMiddle] = 1;
  const Tensor enlarged = data::resample(line, {kLength * factor, 1}, filter);
  std::vector<float> weights;
  for (std::int64_t place = 0; place < factor; ++place)
    for (std::int64_t tap = 0; tap < kTaps; ++tap)
      weights.push_back(enlarged.data<float>()[(kMiddle + kLanczosReach - tap) * factor + place]);
  return weights;
}

// to[i] = sum of weights[k] * rows[k][i]
void combine(const float* weights, const float* const* rows, std::size_t n, float* to) {
  for (std::size_t i = 0; i < n; ++i) {
    float sum = 0;
    for (std::int64_t k = 0; k < kTaps; ++k) sum += weights[k] * rows[k][i];
    to[i] = sum;
  }
}

// [h, w, c] -> [h, factor w, c]
Tensor wider(const Tensor& picture, std::int64_t factor, const std::vector<float>& weights) {
  const std::int64_t height = picture.size(0), width = picture.size(1), channels = picture.size(2);
  const Tensor out = empty({height, width * factor, channels});
  const auto length = static_cast<std::size_t>(width * channels);
  parallel_for(height, grain_of(width * factor * channels), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> padded(static_cast<std::size_t>((width + 2 * kLanczosReach) * channels)), line(length);
    const float* taps[kTaps];
    for (std::int64_t k = 0; k < kTaps; ++k) taps[k] = padded.data() + k * channels;
    for (std::int64_t y = begin; y < end; ++y) {
      const float* const row = picture.data<float>() + y * width * channels;
      for (std::int64_t x = -kLanczosReach; x < width + kLanczosReach; ++x)
        std::copy_n(row + std::clamp<std::int64_t>(x, 0, width - 1) * channels, channels,
                    padded.data() + (x + kLanczosReach) * channels);
      float* const to = out.data<float>() + y * width * factor * channels;
      for (std::int64_t place = 0; place < factor; ++place) {
        combine(weights.data() + place * kTaps, taps, length, line.data());
        for (std::int64_t x = 0; x < width; ++x)
          std::copy_n(line.data() + x * channels, channels, to + (x * factor + place) * channels);
      }
    }
  });
  return out;
}

// [h, w, c] -> [factor h, w, c]
Tensor higher(const Tensor& picture, std::int64_t factor, const std::vector<float>& weights) {
  const std::int64_t height = picture.size(0), row = picture.size(1) * picture.size(2);
  const Tensor out = empty({height * factor, picture.size(1), picture.size(2)});
  parallel_for(height * factor, grain_of(row), [&](std::int64_t begin, std::int64_t end) {
    const float* taps[kTaps];
    for (std::int64_t y = begin; y < end; ++y) {
      for (std::int64_t k = 0; k < kTaps; ++k)
        taps[k] = picture.data<float>() +
                  std::clamp<std::int64_t>(y / factor + k - kLanczosReach, 0, height - 1) * row;
      combine(weights.data() + y % factor * kTaps, taps, static_cast<std::size_t>(row),
              out.data<float>() + y * row);
    }
  });
  return out;
}

}  // namespace

Tensor means_of_squares(const Tensor& redraw, std::int64_t factor) {
  const std::int64_t height = redraw.size(0) / factor, width = redraw.size(1) / factor,
                     channels = redraw.size(2);
  const Tensor out = empty({height, width, channels});
  const float share = 1 / static_cast<float>(factor * factor);
  parallel_for(
      height, grain_of(width * channels * factor * factor), [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> sums(static_cast<std::size_t>(width * factor * channels));
        for (std::int64_t y = begin; y < end; ++y) {
          std::fill(sums.begin(), sums.end(), 0.0f);
          for (std::int64_t i = 0; i < factor; ++i) {
            const float* const row = redraw.data<float>() + (y * factor + i) * width * factor * channels;
            for (std::size_t x = 0; x < sums.size(); ++x) sums[x] += row[x];
          }
          float* put = out.data<float>() + y * width * channels;
          for (std::int64_t x = 0; x < width; ++x)
            for (std::int64_t c = 0; c < channels; ++c) {
              float sum = 0;
              for (std::int64_t i = 0; i < factor; ++i)
                sum += sums[static_cast<std::size_t>((x * factor + i) * channels + c)];
              *put++ = sum * share;
            }
        }
      });
  return out;
}

Tensor enlarged(const Tensor& picture, std::int64_t factor, data::Filter filter) {
  const std::vector<float> weights = weights_of(factor, filter);
  return higher(wider(contiguous(picture), factor, weights), factor, weights);
}

Tensor repeated(const Tensor& picture, std::int64_t factor) {
  const std::int64_t height = picture.size(0), width = picture.size(1), channels = picture.size(2);
  return reshape(contiguous(expand(reshape(picture, {height, 1, width, 1, channels}),
                                   {height, factor, width, factor, channels})),
                 {height * factor, width * factor, channels});
}

}  // namespace veldt::field
