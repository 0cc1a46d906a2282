// Draws a picture by a prior, tile by tile.
#include <algorithm>
#include <cmath>
#include <limits>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/field/prior.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kScale = Prior::kScale;

// The eight symmetries of a square: quarter turns, then the same mirrored.
struct Turn {
  bool exchange;           // swaps rows and columns, first
  std::vector<int> flips;  // of [1, 1, h, w]
};
const Turn& turn_of(int i) {
  static const Turn kAllTurns[] = {{false, {}},  {true, {3}}, {false, {2, 3}}, {true, {2}},
                                   {false, {3}}, {true, {}},  {false, {2}},    {true, {2, 3}}};
  return kAllTurns[i];
}
Tensor turned(const Tensor& x, const Turn& turn) {
  return flip(turn.exchange ? transpose(x, 2, 3) : x, turn.flips);
}
Tensor turned_back(const Tensor& x, const Turn& turn) {
  const Tensor y = flip(x, turn.flips);
  return turn.exchange ? transpose(y, 2, 3) : y;
}

// [1, 1, h, w] -> [1, 1, 4 h, 4 w]
Tensor drawn(const Prior& prior, const Tensor& x, int turns) {
  Tensor sum = prior(x);
  for (int i = 1; i < turns; ++i)
    sum = sum + turned_back(prior(contiguous(turned(x, turn_of(i)))), turn_of(i));
  return contiguous(turns == 1 ? sum : sum / turns);
}

// A stretch of pixels along one side.
struct Stretch {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
  Stretch within(const Stretch& other) const {
    return {std::max(begin, other.begin), std::min(end, other.end)};
  }
  Stretch grown(std::int64_t by) const { return {begin - by, end + by}; }
};

// Tiles are on a grid that begins at the picture's first pixel for any window, so that a sample always comes
// from the same tile and has the same bits.
struct Side {
  Stretch whole, window;
  std::int64_t first() const { return window.begin / kRedrawTile; }
  std::int64_t count() const { return (window.end - 1) / kRedrawTile - first() + 1; }
  Stretch tile(std::int64_t i) const {
    return Stretch{(first() + i) * kRedrawTile, (first() + i + 1) * kRedrawTile}.within(whole);
  }
};

[[noreturn]] void not_finite() {
  throw Error("cannot redraw the picture", "the prior's output for it is not a number",
              "check that its pixels are numbers, and use a prior with its original weights");
}

// A tile of one channel, drawn with all pixels around it that it depends on, into its part of `out`.
void draw_tile(const Prior& prior, const Tensor& plane, const Side& down, const Side& across,
               const Stretch& rows, const Stretch& columns, int turns, const Tensor& out) {
  const Stretch y = rows.grown(prior.reach()).within(down.whole),
                x = columns.grown(prior.reach()).within(across.whole);
  const Tensor part = narrow(narrow(plane, 0, y.begin, y.size()), 1, x.begin, x.size());
  const Tensor samples = drawn(prior, reshape(contiguous(part), {1, 1, y.size(), x.size()}), turns);
  const Stretch wanted_y = rows.within(down.window), wanted_x = columns.within(across.window);
  const std::int64_t width = kScale * across.window.size();
  for (std::int64_t row = kScale * wanted_y.begin; row < kScale * wanted_y.end; ++row) {
    const float* from = samples.data<float>() + (row - kScale * y.begin) * kScale * x.size() +
                        kScale * (wanted_x.begin - x.begin);
    float* to = out.data<float>() + (row - kScale * down.window.begin) * width +
                kScale * (wanted_x.begin - across.window.begin);
    std::copy(from, from + kScale * wanted_x.size(), to);
    if (!std::all_of(from, from + kScale * wanted_x.size(), [](float v) { return std::isfinite(v); }))
      not_finite();
  }
}

void check(const Tensor& pixels, const Window& window, int turns) {
  if (pixels.rank() != 3 || pixels.dtype() != DType::f32 || pixels.numel() == 0)
    throw ShapeError(str("a prior cannot redraw ", pixels.dtype(), ' ', pixels.shape()),
                     "a picture is f32 [channels, height, width], and has pixels", "give one of that form");
  const auto fits = [](std::int64_t begin, std::int64_t size, std::int64_t whole) {
    return begin >= 0 && size >= 1 && begin < whole && size <= whole - begin;
  };
  if (!fits(window.top, window.height, pixels.size(1)) || !fits(window.left, window.width, pixels.size(2)))
    throw ShapeError(str("a prior cannot redraw ", window.width, " x ", window.height, " pixels from column ",
                         window.left, ", row ", window.top, " on"),
                     str("the picture has ", pixels.size(2), " x ", pixels.size(1)), "stay within it");
  if (turns != 1 && turns != 4 && turns != 8)
    throw ConfigError(str("a prior cannot take the mean of ", turns, " turns"),
                      "a square is rotated by quarter turns, and may be mirrored", "choose 1, 4 or 8");
}

}  // namespace

Tensor redraw(const Prior& prior, const Tensor& pixels, const Window& window, int turns) {
  check(pixels, window, turns);
  const Side down = {{0, pixels.size(1)}, {window.top, window.top + window.height}},
             across = {{0, pixels.size(2)}, {window.left, window.left + window.width}};
  const std::int64_t channels = pixels.size(0), tiles = down.count() * across.count();
  const Tensor out = empty({channels, kScale * window.height, kScale * window.width});
  parallel_for(channels * tiles, 1, [&](std::int64_t begin, std::int64_t end) {
    const NoGrad off;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t tile = i % tiles;
      draw_tile(prior, select(pixels, 0, i / tiles), down, across, down.tile(tile / across.count()),
                across.tile(tile % across.count()), turns, select(out, 0, i / tiles));
    }
  });
  return out;
}

Tensor redraw(const Prior& prior, const Tensor& pixels, int turns) {
  const Window whole = pixels.rank() == 3 ? Window{0, 0, pixels.size(1), pixels.size(2)} : Window{};
  return redraw(prior, pixels, whole, turns);
}

}  // namespace veldt::field
