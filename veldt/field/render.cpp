// Drawing a field: in chunks of points small enough for the cache, in bands of rows small enough for any
// memory.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/field/coordinates.h"
#include "veldt/field/field.h"
#include "veldt/field/area_mean.h"
#include "veldt/field/sound_closing.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

// Points that are drawn at a time: on a CPU as many as keep a layer's numbers in the cache (8 MB at 128
// units), on a GPU as many as keep it busy. Fewer for wider networks.
constexpr std::int64_t kChunkPoints = 1 << 14, kChunkUnits = 1 << 21;
constexpr std::int64_t kDevicePoints = 1 << 20, kDeviceUnits = 1 << 26;
constexpr std::int64_t kLongestSide = std::int64_t{1} << 20, kMostFrames = std::int64_t{1} << 40;

// A rectangle of pixels: whole rows, or part of one. So the pixels of consecutive tiles are in row-major
// order.
struct Tile {
  std::int64_t row, rows, column, columns;
  std::int64_t pixels() const { return rows * columns; }
};

// The places of the samples of pixel (column, row).
struct Canvas {
  std::int64_t width, height;
  Region region;
  double time;
  int across, down;  // samples along the sides of a pixel
  const FieldOptions& field;
  CoordinateMap map = CoordinateMap(field);

  std::int64_t samples() const { return std::int64_t{across} * down; }

  // The places of the samples of a tile's rows and columns, in fitted pixels (or squares).
  std::vector<double> places_down(const Tile& tile) const {
    std::vector<double> out = along_y(tile.row, tile.rows);
    for (double& place : out) place *= static_cast<double>(field.rows());
    return out;
  }
  std::vector<double> places_across(const Tile& tile) const {
    std::vector<double> out = along_x(tile.column, tile.columns);
    for (double& place : out) place *= static_cast<double>(field.columns());
    return out;
  }

  // The inputs of all samples of a tile, pixel by pixel: [pixels * down * across, inputs].
  Tensor coordinates(const Tile& tile, Device device) const {
    const Tensor inputs = empty({tile.rows, tile.columns, down, across, map.inputs()}, DType::f32, device);
    const Shape samples = inputs.shape().without(4);
    const auto put = [&](int input, const std::vector<float>& values, const Shape& shape) {
      const Tensor line = Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values);
      select(inputs, 4, input).assign(expand(reshape(to(line, device), shape), samples));
    };
    int next = 0;
    if (map.has_x()) {
      std::vector<float> x;
      for (const double u : along_x(tile.column, tile.columns)) x.push_back(map.x(u));
      put(next++, x, {1, tile.columns, 1, across});
    }
    std::vector<float> y;
    for (const double v : along_y(tile.row, tile.rows)) y.push_back(map.y(v));
    put(next++, y, {tile.rows, 1, down, 1});
    if (map.has_time()) put(next++, {map.time(time)}, {1, 1, 1, 1});
    if (next < map.inputs()) put(next, {1.0f}, {1, 1, 1, 1});
    return reshape(inputs, {tile.pixels() * this->samples(), map.inputs()});
  }

 private:
  // The places of the samples of `count` pixels, as shares of the whole.
  std::vector<double> along_x(std::int64_t first, std::int64_t count) const {
    return along(first, count, across, region.x, region.width, width);
  }
  std::vector<double> along_y(std::int64_t first, std::int64_t count) const {
    return along(first, count, down, region.y, region.height, height);
  }
  static std::vector<double> along(std::int64_t first, std::int64_t count, int samples, double from,
                                   double size, std::int64_t pixels) {
    std::vector<double> out;
    out.reserve(static_cast<std::size_t>(count * samples));
    for (std::int64_t i = 0; i < count * samples; ++i) {
      const double at =
          static_cast<double>(first + i / samples) + (static_cast<double>(i % samples) + 0.5) / samples;
      out.push_back(from + size * at / static_cast<double>(pixels));
    }
    return out;
  }
};

constexpr int kMostSamples = 64;  // along a side of a pixel, unless more are requested

// Output pixels per fitted pixel.
double scale_across(const FieldOptions& o, std::int64_t width, const RenderOptions& how) {
  return static_cast<double>(width) / (static_cast<double>(o.width) * how.region.width);
}
double scale_down(const FieldOptions& o, std::int64_t height, const RenderOptions& how) {
  return static_cast<double>(height) / (static_cast<double>(o.height) * how.region.height);
}
double enlargement(const FieldOptions& o, std::int64_t width, std::int64_t height, const RenderOptions& how) {
  return std::min(scale_across(o, width, how), scale_down(o, height, how));
}

bool has_alpha(const FieldOptions& o) { return !o.is_sound() && o.channels % 2 == 0; }

// The fewest samples per side that are no further apart than those of the fit, of which a pixel covers
// `covered`. A tiny excess over an integer is rounding, not shrinking.
int samples_over(double covered) {
  return static_cast<int>(std::clamp(std::ceil(covered - 1e-6), 1.0, double{kMostSamples}));
}

// The samples of each pixel's mean.
struct Placement {
  int across = 1, down = 1;  // in every pixel, evenly
  // Or the samples of the fit: for squares, and when shrinking a field that was fitted at points, which is
  // arbitrary elsewhere.
  std::optional<AreaSide> columns = {}, rows = {};
  Region region;  // that the samples fill

  double samples_a_pixel(double width, double height) const {
    if (!columns) return static_cast<double>(across) * down;
    return static_cast<double>(columns->count) / width * static_cast<double>(rows->count) / height;
  }
};

// One side: `pixels` of them over a part of the `fitted` ones. Extends the part to the samples' bounds.
AreaSide fitted_side(std::int64_t pixels, std::int64_t fitted, bool squares, double& from, double& size) {
  const auto samples = static_cast<double>(fitted);
  const double covered = samples * size / static_cast<double>(pixels);
  if (!squares && covered <= 1) return AreaSide::even(pixels, 1);
  const AreaSide side = AreaSide::on_lattice(pixels, from * samples, covered, squares ? fitted : 0);
  from = static_cast<double>(side.first) / samples;
  size = static_cast<double>(side.count) / samples;
  return side;
}

// Whether the pixels of the drawing are fitted ones.
bool is_own_size(const FieldOptions& o, std::int64_t width, std::int64_t height, const RenderOptions& how) {
  const auto is_whole = [](double x) { return std::abs(x - std::round(x)) < 1e-6; };
  return std::abs(scale_across(o, width, how) - 1) < 1e-9 &&
         std::abs(scale_down(o, height, how) - 1) < 1e-9 &&
         is_whole(how.region.x * static_cast<double>(o.width)) &&
         is_whole(how.region.y * static_cast<double>(o.height));
}

Placement placement_for(const FieldOptions& o, std::int64_t width, std::int64_t height,
                        const RenderOptions& how) {
  const double enlarged = enlargement(o, width, height, how);
  Placement s{.region = how.region};
  const auto take_those_of_the_fit = [&] {
    s.columns = fitted_side(width, o.columns(), o.squares, s.region.x, s.region.width);
    s.rows = fitted_side(height, o.rows(), o.squares, s.region.y, s.region.height);
    return s;
  };
  // Without a closing, whose numbers must be in the file, a file can claim any number of squares.
  const double to_a_square = enlarged * static_cast<double>(o.period);
  if (o.squares && (o.closing > 0 || samples_over(1 / to_a_square) < kMostSamples))
    return take_those_of_the_fit();
  s.down = how.supersample > 0 ? how.supersample : samples_over(o.footprint / enlarged);
  s.across = o.is_sound() ? 1 : s.down;
  // A field with a footprint is the scene itself, between the samples of the fit as well.
  if (how.supersample > 0 || o.is_sound() || o.footprint > 1 || s.down == 1 || s.down == kMostSamples)
    return s;
  return take_those_of_the_fit();
}

// The factor of the output before clamping. A two-tone field has learned edges about as wide as a fitted
// pixel; on pixels s times finer they are drawn (1 + s) / 2 times steeper (the best factor of those tried,
// 256 to 1024 pixels from 200: bench/RESULTS.md).
double gain_for(const FieldOptions& o, double s) {
  return o.two_tone && o.head == Head::clamp && s > 1 ? (1 + s) / 2 : 1;
}

void check(const FieldOptions& o, std::int64_t width, std::int64_t height, const RenderOptions& how) {
  const std::int64_t highest = o.is_sound() ? kMostFrames : kLongestSide;
  if (width < 1 || height < 1 || width > kLongestSide || height > highest)
    throw ConfigError(o.is_sound() ? str("cannot draw a sound of ", height, " frames")
                                   : str("cannot draw a picture of ", width, "x", height),
                      str(o.is_sound() ? "there may be 1 to " : "sides go from 1 to ", highest),
                      "choose another size");
  const Region& r = how.region;
  if (!(r.width > 0) || !(r.height > 0) || !std::isfinite(r.x) || !std::isfinite(r.y) ||
      !std::isfinite(r.width) || !std::isfinite(r.height))
    throw ConfigError("cannot draw an empty region", str("its size is ", r.width, " by ", r.height),
                      "give a region with a width and a height above 0");
  if (!(how.time >= 0 && how.time <= 1))
    throw ConfigError(str("cannot draw a clip at ", how.time, " of its time"),
                      "0 is its start, and 1 its end", "give a time between them");
  if (how.supersample < 0 || how.supersample > 64)
    throw ConfigError(str("cannot take ", how.supersample, " samples a side"),
                      "0 (automatic) to 64 make sense", "use 2 to 4");
}

// Draws samples a tile at a time.
struct Pen {
  const Network& network;
  const FieldOptions& options;
  const Closing& closing;
  double gain;
  bool weighs_by_alpha;  // if it draws the mean of several pixels
  Device device;

  bool on_cpu() const { return device.kind == DeviceKind::cpu; }
  // The levels of each pixel of the tile: [pixels, channels].
  Tensor levels(const Canvas& canvas, const Tile& tile) const {
    Tensor output = network(canvas.coordinates(tile, device));
    if (gain != 1) output = affine(output, gain, 0);
    Tensor levels = levels_from(output, options.head);
    if (closing) levels = closed(levels, canvas, tile);
    if (canvas.samples() == 1) return levels;
    levels = reshape(levels, {tile.pixels(), canvas.samples(), options.channels});
    return weighs_by_alpha ? mean_by_alpha(levels) : mean(levels, {1});
  }
  // [pixels, samples, channels] -> [pixels, channels]
  static Tensor mean_by_alpha(const Tensor& levels) {
    const std::int64_t colours = levels.size(2) - 1;
    const Tensor means = mean(levels, {1});
    const Tensor alpha = narrow(levels, 2, colours, 1), sums = sum(alpha, {1});
    const Tensor weighed = sum(narrow(levels, 2, 0, colours) * alpha, {1}) / sums;
    return cat({where(greater(sums, 0), weighed, narrow(means, 1, 0, colours)), narrow(means, 1, colours, 1)},
               1);
  }
  // The samples of the tile, [pixels * samples, channels], in rows and columns for the closing and back.
  Tensor closed(const Tensor& levels, const Canvas& canvas, const Tile& tile) const {
    const std::int64_t channels = options.channels, down = canvas.down, across = canvas.across;
    const Tensor in_rows =
        reshape(permute(reshape(levels, {tile.rows, tile.columns, down, across, channels}), {0, 2, 1, 3, 4}),
                {tile.rows * down, tile.columns * across, channels});
    const Tensor out = closing.closed(in_rows, canvas.places_down(tile), canvas.places_across(tile));
    return reshape(permute(reshape(out, {tile.rows, down, tile.columns, across, channels}), {0, 2, 1, 3, 4}),
                   {tile.pixels() * canvas.samples(), channels});
  }
  std::int64_t points_a_tile() const {
    const std::vector<std::int64_t> sizes = layer_sizes(options);
    const std::int64_t widest = *std::max_element(sizes.begin(), sizes.end());
    return on_cpu() ? std::min(kChunkPoints, kChunkUnits / widest)
                    : std::min(kDevicePoints, kDeviceUnits / widest);
  }
};

// The sides of its tiles, except for the last ones.
struct TileSize {
  std::int64_t rows, columns;
};
TileSize tiles_of(const Pen& pen, const Canvas& canvas) {
  const std::int64_t pixels = std::max<std::int64_t>(1, pen.points_a_tile() / canvas.samples());
  return {std::clamp<std::int64_t>(pixels / canvas.width, 1, canvas.height), std::min(pixels, canvas.width)};
}

// Draws rows begin .. end - 1, tile by tile: [end - begin, width, channels], in host memory. `begin` is the
// first row of a tile.
Tensor draw_rows(const Pen& pen, const Canvas& canvas, std::int64_t begin, std::int64_t end) {
  const auto [rows, columns] = tiles_of(pen, canvas);
  const Tensor levels = empty({(end - begin) * canvas.width, pen.options.channels}, DType::f32);
  std::int64_t filled = 0;
  for (std::int64_t row = begin; row < end; row += rows)
    for (std::int64_t column = 0; column < canvas.width; column += columns) {
      const Tile tile{row, std::min(rows, canvas.height - row), column,
                      std::min(columns, canvas.width - column)};
      slice(levels, 0, filled, filled + tile.pixels()).assign(pen.levels(canvas, tile));
      filled += tile.pixels();
    }
  return reshape(levels, {end - begin, canvas.width, pen.options.channels});
}

// Rows that are passed on together: whole tiles, and about as many points as a GPU draws at a time.
std::int64_t rows_a_band(const Pen& pen, std::int64_t width, std::int64_t tile_rows) {
  const std::int64_t points = pen.on_cpu() ? 4 * kChunkPoints : kDevicePoints;
  return std::max<std::int64_t>(1, points / width / tile_rows) * tile_rows;
}

// Each pixel becomes the nearer one of the two tones.
Tensor to_nearer_tone(const Tensor& rows, const std::vector<std::vector<double>>& tones) {
  const Tensor levels = contiguous(to(rows, Device{})), out = empty(levels.shape());
  const std::size_t channels = tones[0].size();
  const float* from = levels.data<float>();
  float* put = out.data<float>();
  for (std::int64_t i = 0; i < levels.numel() / static_cast<std::int64_t>(channels); ++i) {
    double distance[2] = {0, 0};
    for (std::size_t tone = 0; tone < 2; ++tone)
      for (std::size_t c = 0; c < channels; ++c)
        distance[tone] += std::pow(static_cast<double>(from[c]) - tones[tone][c], 2);
    // NaN stays NaN.
    const bool is_number = std::isfinite(distance[0]) && std::isfinite(distance[1]);
    for (std::size_t c = 0; c < channels; ++c)
      *put++ = is_number ? static_cast<float>(tones[distance[1] < distance[0] ? 1 : 0][c]) : from[c];
    from += channels;
  }
  return out;
}

// Every pixel has samples of its own.
void draw_evenly(const Pen& pen, const Canvas& canvas, const BandShare& share, const Field::Band& band) {
  const std::int64_t most_rows = rows_a_band(pen, canvas.width, tiles_of(pen, canvas).rows);
  for (std::int64_t first = 0; first < canvas.height; first += most_rows)
    if (share.has(first / most_rows) &&
        !band(draw_rows(pen, canvas, first, std::min(first + most_rows, canvas.height)), first))
      return;
}

// Each pixel is the mean of the samples that it covers; those at its border are shared with its neighbours.
// A share of the bands is drawn band by band, with the samples that each needs.
void draw_means(const Pen& pen, const Canvas& samples, const AreaSide& across, const AreaSide& down,
                const BandShare& share, const Field::Band& band) {
  const std::int64_t channels = pen.options.channels, most_rows = rows_a_band(pen, across.pixels, 1);
  const std::int64_t tile = tiles_of(pen, samples).rows, most = rows_a_band(pen, samples.width, tile);
  const std::int64_t together = share.of == 1 ? down.pixels : most_rows;
  bool is_stopped = false;
  for (std::int64_t begin = 0; begin < down.pixels && !is_stopped; begin += together) {
    if (!share.has(begin / together)) continue;
    const std::int64_t end = std::min(begin + together, down.pixels);
    // Whole tiles, so that each sample is computed as in the whole drawing.
    const std::int64_t from = down.cover(begin).from / tile * tile,
                       to_tile = (down.cover(end - 1).end() + tile - 1) / tile * tile,
                       last = std::min(to_tile, samples.height);
    AreaMean mean(across, down, channels, has_alpha(pen.options), begin, from);
    std::vector<float> levels;
    std::int64_t first = begin, rows = 0;
    const auto take = [&](const std::vector<float>& row) {
      levels.insert(levels.end(), row.begin(), row.end());
      if (++rows < most_rows && first + rows < end) return true;
      const Tensor whole = Tensor::from<float>({rows, across.pixels, channels}, levels);
      levels.clear();
      first += std::exchange(rows, 0);
      is_stopped = !band(whole, first - whole.size(0));
      return !is_stopped && first < end;
    };
    for (std::int64_t row = from; row < last; row += most)
      if (!mean.add(draw_rows(pen, samples, row, std::min(row + most, last)), take)) break;
  }
}

}  // namespace

void Field::render_bands(Size size, const RenderOptions& how, const Band& band) const {
  const std::int64_t width = size.width, height = size.height;
  check(options_, width, height, how);
  NoGrad off;
  if (closing_ && options_.is_sound()) return play_closed(*this, height, how, band);
  const Placement s = placement_for(options_, width, height, how);
  const double enlarged = enlargement(options_, width, height, how);
  const Pen pen{
      network_, options_, closing_, gain_for(options_, enlarged), has_alpha(options_) && enlarged < 1 - 1e-9,
      device()};
  const Band rounding = [&](const Tensor& rows, std::int64_t first) {
    return band(to_nearer_tone(rows, options_.tones), first);
  };
  const Band& take = !options_.tones.empty() && is_own_size(options_, width, height, how) ? rounding : band;
  if (s.columns)
    draw_means(pen, {s.columns->count, s.rows->count, s.region, how.time, 1, 1, options_}, *s.columns,
               *s.rows, how.share, take);
  else
    draw_evenly(pen, {width, height, s.region, how.time, s.across, s.down, options_}, how.share, take);
}

Tensor Field::open_levels(int samples, const Heard& heard) const {
  Field open = *this;
  open.set_closing({});
  const std::int64_t height = options_.rows() * samples, width = options_.columns() * samples;
  const Tensor levels = empty({height, width, options_.channels});
  RenderOptions once;
  once.supersample = 1;
  open.render_bands({width, height}, once, [&](const Tensor& rows, std::int64_t first) {
    slice(levels, 0, first, first + rows.size(0)).assign(rows);
    heard(static_cast<double>(first + rows.size(0)) / static_cast<double>(height));
    return true;
  });
  return levels;
}

double Field::samples_a_pixel(Size size, const RenderOptions& how) const {
  const std::int64_t width = size.width, height = size.height;
  check(options_, width, height, how);
  if (closing_ && options_.is_sound()) return fitted_a_frame(options_, height, how.region);
  return placement_for(options_, width, height, how)
      .samples_a_pixel(static_cast<double>(width), static_cast<double>(height));
}

}  // namespace veldt::field
