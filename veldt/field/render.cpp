// Drawing a field: in chunks of points small enough for the cache, in bands of rows small enough for any
// memory.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/field/coordinates.h"
#include "veldt/field/field.h"
#include "veldt/field/shrink.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kChunkPoints = 1 << 14;  // 8 MB of activations at 128 units
constexpr std::int64_t kChunkUnits = 1 << 21;   // of one layer, for wider networks
constexpr std::int64_t kMaxSide = std::int64_t{1} << 20, kMaxFrames = std::int64_t{1} << 40;

// Where the samples of pixel (column, row) lie.
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

constexpr int kMostSamples = 64;  // along a side of a pixel, unless it is told to take more

// Output pixels to a fitted one, across or down, whichever is fewer.
double enlargement(const FieldOptions& o, std::int64_t width, std::int64_t height, const RenderOptions& how) {
  return std::min(static_cast<double>(width) / (static_cast<double>(o.width) * how.region.width),
                  static_cast<double>(height) / (static_cast<double>(o.height) * how.region.height));
}

// The fewest samples a side that are no further apart than those of the fit, of which a pixel covers
// `covered`. A hair above a whole number is rounding, not shrinking.
int samples_over(double covered) {
  return static_cast<int>(std::clamp(std::ceil(covered - 1e-6), 1.0, double{kMostSamples}));
}

// Which samples each pixel is the mean of.
struct Sampling {
  int across = 1, down = 1;  // in every pixel, evenly
  // Instead, when shrinking what was fitted at points: those points, since elsewhere it may be anything.
  std::optional<ShrunkSide> shrunk_across = {}, shrunk_down = {};
  Region region;  // that the samples fill

  double samples_a_pixel(double width, double height) const {
    if (!shrunk_across) return static_cast<double>(across) * down;
    return static_cast<double>(shrunk_across->count) / width * static_cast<double>(shrunk_down->count) /
           height;
  }
};

// One side: `pixels` of them over a part of the `fitted` ones. Widens the part to the samples' bounds.
ShrunkSide shrunk_side(std::int64_t pixels, std::int64_t fitted, double& from, double& size) {
  const auto samples = static_cast<double>(fitted);
  const double covered = samples * size / static_cast<double>(pixels);
  if (covered <= 1) return ShrunkSide::even(pixels, 1);
  const ShrunkSide side = ShrunkSide::on_lattice(pixels, from * samples, covered);
  from = static_cast<double>(side.first) / samples;
  size = static_cast<double>(side.count) / samples;
  return side;
}

Sampling sampling_for(const FieldOptions& o, std::int64_t width, std::int64_t height,
                      const RenderOptions& how) {
  const double enlarged = enlargement(o, width, height, how);
  Sampling s{.region = how.region};
  s.down = how.supersample > 0 ? how.supersample : samples_over(o.footprint / enlarged);
  s.across = o.is_sound() ? 1 : s.down;
  // A field with a footprint is the scene itself, between the samples of the fit as well.
  if (how.supersample > 0 || o.is_sound() || o.footprint > 1 || s.down == 1 || s.down == kMostSamples)
    return s;
  s.shrunk_across = shrunk_side(width, o.width, s.region.x, s.region.width);
  s.shrunk_down = shrunk_side(height, o.height, s.region.y, s.region.height);
  return s;
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

// Draws samples a chunk at a time: pixels first.. of a canvas into levels [samples, channels].
struct Pen {
  const Network& network;
  const FieldOptions& options;
  double gain;
  Device device;

  Tensor levels(const Canvas& canvas, std::int64_t first, std::int64_t count) const {
    Tensor output = network(to(canvas.coordinates(first, count), device));
    if (gain != 1) output = affine(output, gain, 0);
    return levels_from(output, options.head);
  }
  std::int64_t points_a_chunk() const {
    const std::vector<std::int64_t> sizes = layer_sizes(options);
    return std::min(kChunkPoints, kChunkUnits / *std::max_element(sizes.begin(), sizes.end()));
  }
};

std::int64_t rows_a_band(std::int64_t width, std::int64_t height) {
  return std::clamp<std::int64_t>(kChunkPoints * 4 / width, 1, height);
}

// Every pixel has samples of its own.
void draw_evenly(const Pen& pen, const Canvas& canvas, const Field::Band& band) {
  const std::int64_t samples = canvas.across * canvas.down, channels = pen.options.channels;
  const std::int64_t pixels_a_chunk = std::max<std::int64_t>(1, pen.points_a_chunk() / samples);
  const std::int64_t most_rows = rows_a_band(canvas.width, canvas.height);
  for (std::int64_t row = 0; row < canvas.height; row += most_rows) {
    const std::int64_t rows = std::min(most_rows, canvas.height - row), pixels = rows * canvas.width;
    Tensor out = empty({pixels, channels}, DType::f32);
    for (std::int64_t p = 0; p < pixels; p += pixels_a_chunk) {
      const std::int64_t n = std::min(pixels_a_chunk, pixels - p);
      Tensor levels = pen.levels(canvas, row * canvas.width + p, n);
      if (samples > 1) levels = mean(reshape(levels, {n, samples, channels}), {1});
      slice(out, 0, p, p + n).assign(levels);
    }
    if (!band(reshape(out, {rows, canvas.width, channels}), row)) return;
  }
}

// Neighbouring pixels share the samples at their border.
void draw_shrunk(const Pen& pen, const Canvas& samples, const ShrunkSide& across, const ShrunkSide& down,
                 const Field::Band& band) {
  AreaMean mean(across, down, pen.options.channels);
  const std::int64_t all = samples.width * samples.height,
                     most_points = std::max<std::int64_t>(1, pen.points_a_chunk());
  const std::int64_t most_rows = rows_a_band(across.pixels, down.pixels);
  std::int64_t row = 0;
  for (std::int64_t p = 0; p < all; p += most_points) {
    const std::int64_t n = std::min(most_points, all - p);
    mean.add(to(pen.levels(samples, p, n), Device{}));
    const std::int64_t ready = mean.rows_ready();
    if (ready == 0 || (ready < most_rows && p + n < all)) continue;
    if (!band(mean.take(), row)) return;
    row += ready;
  }
}

}  // namespace

void Field::render_bands(std::int64_t width, std::int64_t height, const RenderOptions& how,
                         const Band& band) const {
  check(options_, width, height, how);
  NoGrad off;
  const Sampling s = sampling_for(options_, width, height, how);
  const Pen pen{network_, options_, gain_for(options_, enlargement(options_, width, height, how)), device()};
  const CoordinateMap map(options_);
  if (s.shrunk_across)
    draw_shrunk(pen, {s.shrunk_across->count, s.shrunk_down->count, s.region, 1, 1, map}, *s.shrunk_across,
                *s.shrunk_down, band);
  else
    draw_evenly(pen, {width, height, s.region, s.across, s.down, map}, band);
}

double Field::samples_a_pixel(std::int64_t width, std::int64_t height, const RenderOptions& how) const {
  check(options_, width, height, how);
  return sampling_for(options_, width, height, how)
      .samples_a_pixel(static_cast<double>(width), static_cast<double>(height));
}

}  // namespace veldt::field
