// Marks the vertices around each pixel that is not flat ground, level by level.
#include "veldt/publish/touched.h"

#include <algorithm>
#include <cmath>

namespace veldt::publish {
namespace {

constexpr std::int64_t kMostMarked = std::int64_t{1} << 23;    // pixels: beyond that it takes seconds
constexpr std::int64_t kMostVertices = std::int64_t{1} << 27;  // of a level, counted for each pixel
constexpr float kFlatBelowAll = -12;  // closing.cpp: numbers below are levels of flat ground

// The pixels (or squares) where the network counts.
std::vector<bool> seen_pixels(const Parts& parts) {
  const auto pixels = static_cast<std::size_t>(parts.options.rows() * parts.options.columns()),
             channels = static_cast<std::size_t>(parts.options.channels);
  std::vector<bool> seen(pixels, true);
  if (parts.options.closing < 2) return seen;
  const float* const constants = parts.closing.data() + pixels * channels;
  for (std::size_t i = 0; i < pixels; ++i)
    seen[i] = !std::all_of(constants + i * channels, constants + (i + 1) * channels,
                           [](float n) { return n < kFlatBelowAll; });
  return seen;
}

// The first and the last vertex along an axis that places from..to (0..1 of a grid) read, and a hair beyond.
struct Span {
  Span(double from, double to, std::int32_t cells) {
    constexpr double kHair = 1e-5;
    const auto cell = [&](double at) {
      return std::clamp(static_cast<std::int64_t>(std::floor(at * cells)), std::int64_t{0},
                        std::int64_t{cells} - 1);
    };
    first = cell(std::clamp(from - kHair, 0.0, 1.0));
    last = cell(std::clamp(to + kHair, 0.0, 1.0)) + 1;
  }
  std::int64_t first, last;
};

// [columns or rows] spans along one side.
std::vector<Span> spans(std::int64_t n, double scale, double shift, std::int32_t cells) {
  std::vector<Span> out;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto place = [&](std::int64_t k) {
      return (scale * static_cast<double>(k) / static_cast<double>(n) + shift + 1) / 2;
    };
    out.emplace_back(place(i), place(i + 1), cells);
  }
  return out;
}

// Whether the vertices that each pixel reads are few enough to mark. A level may have 2^24 along a side, also
// where the picture is one pixel.
bool is_little(const std::vector<Span>& across, const std::vector<Span>& down) {
  const auto sum = [](const std::vector<Span>& spans) {
    double out = 0;
    for (const Span& s : spans) out += static_cast<double>(s.last - s.first + 1);
    return out;
  };
  return sum(across) * sum(down) <= static_cast<double>(kMostVertices);
}

}  // namespace

void clear_untouched(Parts& parts) {
  const std::int64_t rows = parts.options.rows(), columns = parts.options.columns();
  if (parts.encodings.empty() || rows * columns > kMostMarked) return;
  const std::vector<bool> seen = seen_pixels(parts);
  for (EncodingPart& e : parts.encodings) {
    if (e.grid.levels == 0) continue;
    std::vector<bool> touched(static_cast<std::size_t>(e.grid.entries()), false);
    for (int l = 0; l < e.grid.levels; ++l) {
      const GridLayout::Level& level = e.grid.level[static_cast<std::size_t>(l)];
      const std::vector<Span> across = spans(columns, parts.x_scale, parts.x_shift, level.cells),
                              down = spans(rows, parts.y_scale, parts.y_shift, level.cells);
      if (!is_little(across, down)) {
        std::fill(touched.begin() + level.first, touched.begin() + level.first + e.grid.entries_of(l), true);
        continue;
      }
      const auto mask = static_cast<std::uint32_t>(e.grid.entries_of(l)) - 1;
      for (std::int64_t y = 0; y < rows; ++y)
        for (std::int64_t x = 0; x < columns; ++x) {
          if (!seen[static_cast<std::size_t>(y * columns + x)]) continue;
          const Span &h = across[static_cast<std::size_t>(x)], &v = down[static_cast<std::size_t>(y)];
          for (std::int64_t b = v.first; b <= v.last; ++b)
            for (std::int64_t a = h.first; a <= h.last; ++a) {
              const auto i = static_cast<std::uint32_t>(a), j = static_cast<std::uint32_t>(b);
              const std::uint32_t entry =
                  level.hashed ? (i ^ (j * level.step_along(1))) & mask : i + j * level.step_along(1);
              touched[static_cast<std::size_t>(level.first) + entry] = true;
            }
        }
    }
    const auto features = static_cast<std::size_t>(e.grid.features);
    for (std::size_t i = 0; i < touched.size(); ++i)
      if (!touched[i])
        std::fill_n(e.numbers.begin() + static_cast<std::ptrdiff_t>(i * features), features, 0.0f);
  }
}

}  // namespace veldt::publish
