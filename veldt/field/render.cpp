// Drawing a field: in chunks of points small enough for the cache, in bands of rows small enough for any
// memory.
#include <algorithm>
#include <cmath>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/field/coordinates.h"
#include "veldt/field/field.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kChunkPoints = 1 << 14;  // 8 MB of activations at 128 units
constexpr std::int64_t kChunkUnits = 1 << 21;   // of one layer, for wider networks
constexpr std::int64_t kMaxSide = std::int64_t{1} << 20, kMaxFrames = std::int64_t{1} << 40;

// The output picture: where the samples of pixel (column, row) lie.
struct Canvas {
  std::int64_t width, height;
  Region region;
  int across, down;  // samples along the sides of a pixel
  CoordinateMap map;

  // The inputs of all samples of pixels first.. in row-major order: [count * across * down, inputs].
  Tensor coordinates(std::int64_t first, std::int64_t count) const {
    const std::int64_t samples = count * across * down;
    const Tensor inputs = empty({samples, map.inputs()});
    parallel_for(count, 4096, [&](std::int64_t begin, std::int64_t end) {
      float* to = inputs.data<float>() + begin * across * down * map.inputs();
      for (std::int64_t p = begin; p < end; ++p) {
        const auto column = static_cast<double>((first + p) % width),
                   row = static_cast<double>((first + p) / width);
        for (int i = 0; i < down; ++i) {
          const double v = region.y + region.height * (row + (i + 0.5) / down) / static_cast<double>(height);
          for (int j = 0; j < across; ++j)
            to = map.put(region.x + region.width * (column + (j + 0.5) / across) / static_cast<double>(width),
                         v, to);
        }
      }
    });
    return inputs;
  }
};

// Output pixels to a fitted one, across or down, whichever is fewer.
double enlargement(const FieldOptions& o, std::int64_t width, std::int64_t height, const RenderOptions& how) {
  return std::min(static_cast<double>(width) / (static_cast<double>(o.width) * how.region.width),
                  static_cast<double>(height) / (static_cast<double>(o.height) * how.region.height));
}

// Samples a side so that neighbouring samples are no further apart than those the field was fitted with.
int samples_at(const FieldOptions& o, double enlarged, const RenderOptions& how) {
  if (how.supersample > 0) return how.supersample;
  // A hair below the next whole number is rounding, not shrinking.
  return static_cast<int>(std::clamp(std::ceil(o.footprint / enlarged - 1e-6), 1.0, 64.0));
}

// What the output is multiplied by before it is cut to its bounds. A two-tone field learned edges about as
// wide as a fitted pixel; drawn on pixels s times finer they are (1 + s) / 2 times steeper (the best of those
// tried, 256 to 1024 pixels from 200: bench/RESULTS.md).
double gain_for(const FieldOptions& o, double s) {
  return o.two_tone && o.head == Head::clamp && s > 1 ? (1 + s) / 2 : 1;
}

void check(const FieldOptions& o, std::int64_t width, std::int64_t height, const RenderOptions& how) {
  const std::int64_t highest = o.is_sound() ? kMaxFrames : kMaxSide;
  if (width < 1 || height < 1 || width > kMaxSide || height > highest)
    throw ConfigError(o.is_sound() ? str("cannot draw a sound of ", height, " frames")
                                   : str("cannot draw a picture of ", width, "x", height),
                      str(o.is_sound() ? "there may be 1 to " : "sides go from 1 to ", highest),
                      "choose another size");
  const Region& r = how.region;
  if (!(r.width > 0) || !(r.height > 0) || !std::isfinite(r.x) || !std::isfinite(r.y) ||
      !std::isfinite(r.width) || !std::isfinite(r.height))
    throw ConfigError("cannot draw an empty region", str("its size is ", r.width, " by ", r.height),
                      "give a region with a width and a height above 0");
  if (how.supersample < 0 || how.supersample > 64)
    throw ConfigError(str("cannot take ", how.supersample, " samples a side"),
                      "0 (automatic) to 64 make sense", "use 2 to 4");
}

}  // namespace

void Field::render_bands(std::int64_t width, std::int64_t height, const RenderOptions& how,
                         const Band& band) const {
  check(options_, width, height, how);
  NoGrad off;
  const double enlarged = enlargement(options_, width, height, how), gain = gain_for(options_, enlarged);
  const int s = samples_at(options_, enlarged, how);
  const Canvas canvas{width, height, how.region, options_.is_sound() ? 1 : s, s, CoordinateMap(options_)};
  const std::int64_t samples = canvas.across * canvas.down;
  const std::int64_t rows_a_band = std::clamp<std::int64_t>(kChunkPoints * 4 / width, 1, height);
  const std::vector<std::int64_t> sizes = layer_sizes(options_);
  const std::int64_t widest = *std::max_element(sizes.begin(), sizes.end());
  const std::int64_t points = std::min(kChunkPoints, kChunkUnits / widest);
  const std::int64_t pixels_a_chunk = std::max<std::int64_t>(1, points / samples);
  for (std::int64_t row = 0; row < height; row += rows_a_band) {
    const std::int64_t rows = std::min(rows_a_band, height - row), pixels = rows * width;
    Tensor out = empty({pixels, options_.channels}, DType::f32);
    for (std::int64_t p = 0; p < pixels; p += pixels_a_chunk) {
      const std::int64_t n = std::min(pixels_a_chunk, pixels - p);
      Tensor output = network_(canvas.coordinates(row * width + p, n));
      if (gain != 1) output = affine(output, gain, 0);
      Tensor levels = levels_from(output, options_.head);
      if (samples > 1) levels = mean(reshape(levels, {n, samples, options_.channels}), {1});
      slice(out, 0, p, p + n).assign(levels);
    }
    if (!band(reshape(out, {rows, width, options_.channels}), row)) return;
  }
}

int Field::samples_for(std::int64_t width, std::int64_t height, const RenderOptions& how) const {
  check(options_, width, height, how);
  return samples_at(options_, enlargement(options_, width, height, how), how);
}

}  // namespace veldt::field
