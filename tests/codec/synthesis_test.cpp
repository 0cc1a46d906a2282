// Pixels of latents: beside the same in double, in parts, and on one thread.
#include "veldt/codec/synthesis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/codec/some_networks.h"
#include "veldt/core/threads.h"

namespace veldt::codec {
namespace {

using Grid = std::vector<std::vector<double>>;

double clamped(const Grid& g, std::int64_t x, std::int64_t y) {
  const auto last_y = static_cast<std::int64_t>(g.size()) - 1,
             last_x = static_cast<std::int64_t>(g[0].size()) - 1;
  return g[static_cast<std::size_t>(std::clamp<std::int64_t>(y, 0, last_y))]
          [static_cast<std::size_t>(std::clamp<std::int64_t>(x, 0, last_x))];
}

Grid grid_of(Size size) {
  return Grid(static_cast<std::size_t>(size.height),
              std::vector<double>(static_cast<std::size_t>(size.width)));
}

Grid doubled(const Grid& g, Size size, const float (&filter)[kUpsampling]) {
  Grid out = grid_of(size);
  for (std::int64_t y = 0; y < size.height; ++y)
    for (std::int64_t x = 0; x < size.width; ++x) {
      double sum = 0;
      const std::int64_t sx = x % 2 == 0 ? -1 : 1, sy = y % 2 == 0 ? -1 : 1;
      const std::int64_t at[4] = {2, 1, 0, -1};
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
          sum +=
              static_cast<double>(filter[i] * filter[j]) * clamped(g, x / 2 + sx * at[j], y / 2 + sy * at[i]);
      out[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = sum;
    }
  return out;
}

// The formulas of networks.h and colour_axes.h in double.
std::vector<Grid> reference(const Pyramid& pyramid, const Synthesis<float>& n) {
  const Size size = pyramid[0].level();
  std::vector<Grid> f(kLevels);
  for (std::size_t l = 0; l < kLevels; ++l) {
    Grid g = grid_of(pyramid[l].level());
    for (std::size_t y = 0; y < g.size(); ++y)
      for (std::size_t x = 0; x < g[0].size(); ++x) g[y][x] = pyramid[l].row(static_cast<std::int64_t>(y))[x];
    for (std::size_t k = l; k-- > 0;) g = doubled(g, pyramid[k].level(), n.upsampling[k]);
    f[l] = g;
  }
  const auto convolved = [&](const std::vector<Grid>& in, int i, std::int64_t x, std::int64_t y,
                             const float* w) {
    double sum = 0;
    for (int t = 0; t < kTaps; ++t)
      sum +=
          static_cast<double>(w[t]) * clamped(in[static_cast<std::size_t>(i)], x + t % 3 - 1, y + t / 3 - 1);
    return sum;
  };
  std::vector<Grid> colours(kColours, grid_of(size)), detail(kDetail, grid_of(size)),
      out(kColours, grid_of(size));
  for (std::size_t y = 0; y < static_cast<std::size_t>(size.height); ++y)
    for (std::size_t x = 0; x < static_cast<std::size_t>(size.width); ++x) {
      double h[kHidden];
      for (int u = 0; u < kHidden; ++u) {
        h[u] = static_cast<double>(n.hidden_bias[u]);
        for (std::size_t l = 0; l < kLevels; ++l) h[u] += static_cast<double>(n.hidden[u][l]) * f[l][y][x];
        h[u] = std::max(h[u], 0.0);
      }
      for (int c = 0; c < kColours; ++c) {
        double sum = static_cast<double>(n.colour_bias[c]);
        for (std::size_t l = 0; l < kLevels; ++l) sum += static_cast<double>(n.skip[c][l]) * f[l][y][x];
        for (int u = 0; u < kHidden; ++u) sum += static_cast<double>(n.colour[c][u]) * h[u];
        colours[static_cast<std::size_t>(c)][y][x] = sum;
      }
    }
  for (std::int64_t y = 0; y < size.height; ++y)
    for (std::int64_t x = 0; x < size.width; ++x)
      for (int d = 0; d < kDetail; ++d) {
        double sum = static_cast<double>(n.detail_bias[d]);
        for (int c = 0; c < kColours; ++c) sum += convolved(colours, c, x, y, n.detail[d][c]);
        detail[static_cast<std::size_t>(d)][static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] =
            std::max(sum, 0.0);
      }
  for (std::int64_t y = 0; y < size.height; ++y)
    for (std::int64_t x = 0; x < size.width; ++x)
      for (std::size_t c = 0; c < kColours; ++c) {
        double colour = kSomeAxes.mean[c] / 256.0;
        for (int k = 0; k < kColours; ++k) {
          double sum =
              static_cast<double>(n.close_bias[k]) + clamped(colours[static_cast<std::size_t>(k)], x, y);
          for (int d = 0; d < kDetail; ++d) sum += convolved(detail, d, x, y, n.close[k][d]);
          colour += kSomeAxes.matrix[c][static_cast<std::size_t>(k)] / 64.0 * (sum - kAxesMiddle / 4096.0);
        }
        out[c][static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = std::clamp(colour, 0.0, 1.0) * 255;
      }
  return out;
}

TEST(PackedSynthesis, IsTheFormulaWithinItsRounding) {
  for (const Size size : {Size{1, 1}, Size{3, 2}, Size{37, 70}, Size{70, 37}}) {
    const Pyramid pyramid = some_latents(size, 3);
    const Networks<std::int32_t> networks = to_integers(some_networks(4));
    const std::vector<std::uint8_t> bytes =
        synthesise(pyramid, {0, 0, size.width, size.height}, networks.synthesis, kSomeAxes);
    const std::vector<Grid> exact = reference(pyramid, to_floats(networks).synthesis);
    std::size_t i = 0;
    double spread = 0;
    for (std::size_t y = 0; y < static_cast<std::size_t>(size.height); ++y)
      for (std::size_t x = 0; x < static_cast<std::size_t>(size.width); ++x)
        for (std::size_t c = 0; c < kColours; ++c, ++i) {
          ASSERT_NEAR(bytes[i], exact[c][y][x], 1.0) << size.width << " " << x << " " << y;
          spread = std::max(spread, std::abs(exact[c][y][x] - exact[0][0][0]));
        }
    EXPECT_TRUE(i == kColours || spread > 5);  // there is something to see
  }
}

TEST(PackedSynthesis, APartIsThatOfTheWhole) {
  const Size size{83, 90};
  const Pyramid pyramid = some_latents(size, 5);
  const Networks<std::int32_t> networks = to_integers(some_networks(6));
  const std::vector<std::uint8_t> whole =
      synthesise(pyramid, {0, 0, size.width, size.height}, networks.synthesis, kSomeAxes);
  for (const Region part :
       {Region{0, 0, 1, 1}, Region{82, 89, 83, 90}, Region{10, 33, 71, 68}, Region{40, 0, 42, 90}}) {
    // A pyramid of what is needed alone.
    Pyramid some;
    Region needed = synthesis_needs(part, size);
    for (std::size_t l = 0; l < kLevels; ++l) {
      if (l > 0) needed = upsampling_needs(needed, pyramid[l].level());
      some[l] = Latents(pyramid[l].level(), needed);
      for (std::int64_t y = needed.y0; y < needed.y1; ++y)
        for (std::int64_t x = needed.x0; x < needed.x1; ++x) some[l].row(y)[x] = pyramid[l].row(y)[x];
    }
    const std::vector<std::uint8_t> bytes = synthesise(some, part, networks.synthesis, kSomeAxes);
    for (std::int64_t y = part.y0; y < part.y1; ++y)
      for (std::int64_t i = 0; i < part.width() * kColours; ++i)
        ASSERT_EQ(bytes[static_cast<std::size_t>((y - part.y0) * part.width() * kColours + i)],
                  whole[static_cast<std::size_t>((y * size.width + part.x0) * kColours + i)]);
  }
}

TEST(PackedSynthesis, TheBitsAreTheSameEverywhere) {
  const Pyramid pyramid = some_latents({64, 50}, 5);
  const Networks<std::int32_t> networks = to_integers(some_networks(6));
  std::uint64_t digest = 14695981039346656037ull;  // FNV-1a
  for (const std::uint8_t b : synthesise(pyramid, {0, 0, 64, 50}, networks.synthesis, kSomeAxes))
    digest = (digest ^ b) * 1099511628211ull;
  EXPECT_EQ(digest, 3741265590462582305u);
}

TEST(PackedSynthesis, AnyWeightsAreSomePicture) {
  std::mt19937 random(1);
  Networks<std::int32_t> networks;
  for (std::int32_t& n : networks.numbers()) n = static_cast<std::int32_t>(random());
  const Pyramid pyramid = some_latents({33, 34}, 5);
  EXPECT_EQ(synthesise(pyramid, {0, 0, 33, 34}, networks.synthesis, kSomeAxes).size(), 33u * 34 * 3);
  ColourAxes axes = kSomeAxes;
  for (auto& row : axes.matrix) row = {-128, -128, 127};
  EXPECT_EQ(synthesise(pyramid, {0, 0, 33, 34}, networks.synthesis, axes).size(), 33u * 34 * 3);
  axes.matrix = {};
  for (std::size_t i = 0;
       const std::uint8_t byte : synthesise(pyramid, {0, 0, 33, 34}, networks.synthesis, axes))
    ASSERT_EQ(byte, (axes.mean[i++ % 3] * 16 * 255 + 2048) >> 12);
  EXPECT_GE(bits_of_tile(pyramid, 0, {0, 0, 33, 34}, networks.models[0]), 0);
}

}  // namespace
}  // namespace veldt::codec
