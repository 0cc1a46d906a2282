// Drawing a field: in chunks of points small enough for the cache, in bands of rows small enough for any
// memory.
#include <algorithm>
#include <cmath>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/field/coordinates.h"
#include "veldt/field/image_field.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kChunkPoints = 1 << 14;  // 8 MB of activations at 128 units
constexpr std::int64_t kChunkUnits = 1 << 21;   // of one layer, for wider networks
constexpr std::int64_t kMaxSide = std::int64_t{1} << 20;

// The output picture: where the samples of pixel (column, row) lie.
struct Canvas {
  std::int64_t width, height;
  Region region;
  int samples;  // along each side of a pixel
  CoordinateMap map;

  // Writes the coordinates of all samples of pixels first.. in row-major order: [count * samples^2, inputs].
  Tensor coordinates(std::int64_t first, std::int64_t count) const {
    const int s = samples, inputs = map.inputs();
    std::vector<float> at(static_cast<std::size_t>(count * s * s * inputs));
    parallel_for(count, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        const auto column = static_cast<double>((first + p) % width),
                   row = static_cast<double>((first + p) / width);
        float* to = at.data() + p * s * s * inputs;
        for (int i = 0; i < s; ++i) {
          const double v = region.y + region.height * (row + (i + 0.5) / s) / static_cast<double>(height);
          for (int j = 0; j < s; ++j, to += inputs) {
            const double u = region.x + region.width * (column + (j + 0.5) / s) / static_cast<double>(width);
            to[0] = map.x(u);
            to[1] = map.y(v);
            if (inputs == 3) to[2] = 1;
          }
        }
      }
    });
    return Tensor::from<float>({count * s * s, inputs}, at);
  }
};

// Output pixels to a fitted one, across or down, whichever is fewer.
double enlargement(const FieldOptions& o, std::int64_t width, std::int64_t height, const RenderOptions& how) {
  return std::min(static_cast<double>(width) / (static_cast<double>(o.width) * how.region.width),
                  static_cast<double>(height) / (static_cast<double>(o.height) * how.region.height));
}

// Samples a side so that neighbouring samples are no further apart than those the field was fitted with.
int samples_for(const FieldOptions& o, double enlarged, const RenderOptions& how) {
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

void check(std::int64_t width, std::int64_t height, const RenderOptions& how) {
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide)
    throw ConfigError(str("cannot draw a picture of ", width, "x", height),
                      str("sides go from 1 to ", kMaxSide), "choose another size");
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

void ImageField::render_bands(std::int64_t width, std::int64_t height, const RenderOptions& how,
                              const std::function<bool(const Tensor& rows, std::int64_t first)>& band) const {
  check(width, height, how);
  NoGrad off;
  const double enlarged = enlargement(options_, width, height, how), gain = gain_for(options_, enlarged);
  const int s = samples_for(options_, enlarged, how);
  const Canvas canvas{width, height, how.region, s, CoordinateMap(options_)};
  const std::int64_t rows_a_band = std::clamp<std::int64_t>(kChunkPoints * 4 / width, 1, height);
  const std::int64_t widest = *std::max_element(options_.widths.begin(), options_.widths.end());
  const std::int64_t points = std::min(kChunkPoints, kChunkUnits / widest);
  const std::int64_t pixels_a_chunk = std::max<std::int64_t>(1, points / (s * s));
  for (std::int64_t row = 0; row < height; row += rows_a_band) {
    const std::int64_t rows = std::min(rows_a_band, height - row), pixels = rows * width;
    Tensor out = empty({pixels, options_.channels}, DType::f32);
    for (std::int64_t p = 0; p < pixels; p += pixels_a_chunk) {
      const std::int64_t n = std::min(pixels_a_chunk, pixels - p);
      Tensor output = network_(canvas.coordinates(row * width + p, n));
      if (gain != 1) output = affine(output, gain, 0);
      Tensor levels = levels_from(output, options_.head);
      if (s > 1) levels = mean(reshape(levels, {n, s * s, options_.channels}), {1});
      slice(out, 0, p, p + n).assign(levels);
    }
    if (!band(reshape(out, {rows, width, options_.channels}), row)) return;
  }
}

int ImageField::samples_a_side(std::int64_t width, std::int64_t height, const RenderOptions& how) const {
  check(width, height, how);
  return samples_for(options_, enlargement(options_, width, height, how), how);
}

Tensor ImageField::render(std::int64_t width, std::int64_t height, const RenderOptions& how) const {
  check(width, height, how);
  const Tensor picture = empty({height, width, options_.channels}, DType::f32);
  render_bands(width, height, how, [&](const Tensor& rows, std::int64_t first) {
    slice(picture, 0, first, first + rows.size(0)).assign(rows);
    return true;
  });
  return picture;
}

}  // namespace veldt::field
