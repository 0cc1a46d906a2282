// A picture's colours along axes of their own: which axes, there and back, and pictures without colours.
#include "veldt/pack/colours.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/codec/some_networks.h"

namespace veldt::pack {
namespace {

using codec::ColourAxes;

// Pixels whose variance is along the three directions.
std::vector<std::uint8_t> along(const double (&directions)[3][3], const double (&sizes)[3]) {
  std::mt19937 random(3);
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 2000; ++i) {
    double part[3];
    for (int k = 0; k < 3; ++k) part[k] = sizes[k] * static_cast<double>(codec::some_number(random));
    for (int c = 0; c < 3; ++c) {
      double sum = 120;
      for (int k = 0; k < 3; ++k) sum += part[k] * directions[k][c];
      pixels.push_back(static_cast<std::uint8_t>(std::lround(sum)));
    }
  }
  return pixels;
}

TEST(PackColours, TheUsualAxesAreThoseOfRedGreenAndBlue) {
  const ColourAxes axes = principal_axes(
      along({{0.577, 0.577, 0.577}, {0.707, 0, -0.707}, {0.408, -0.816, 0.408}}, {120, 40, 9}));
  for (std::size_t a = 0; a < 3; ++a) {
    EXPECT_NEAR(axes.mean[a], 120, 4);
    for (std::size_t b = 0; b < 3; ++b) EXPECT_NEAR(axes.matrix[a][b], a == b ? 64 : 0, 4) << a << b;
  }
}

TEST(PackColours, TheVarianceOfAnyPictureComesToLieThere) {
  // Most along red alone, then along green.
  const std::vector<std::uint8_t> pixels = along({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {110, 35, 8});
  const std::vector<float> colours = along_axes(pixels, principal_axes(pixels));
  double grey = 0, red_blue = 0, green = 0;
  for (std::size_t i = 0; i < colours.size(); i += 3) {
    const double r = static_cast<double>(colours[i]) - 0.449, g = static_cast<double>(colours[i + 1]) - 0.449,
                 b = static_cast<double>(colours[i + 2]) - 0.449;
    grey += std::pow(r + g + b, 2) / 3;
    red_blue += std::pow(r - b, 2) / 2;
    green += std::pow(r - 2 * g + b, 2) / 6;
  }
  // A uniform number's variance is a third of its largest squared.
  const double unit = 3.0 * 255 * 255 / 2000;
  EXPECT_NEAR(std::sqrt(grey * unit), 110, 4);
  EXPECT_NEAR(std::sqrt(red_blue * unit), 35, 2);
  EXPECT_NEAR(std::sqrt(green * unit), 8, 1.5);
}

TEST(PackColours, TheAxesGiveThePictureBack) {
  const std::vector<std::uint8_t> pixels = along({{0.8, 0.6, 0}, {-0.6, 0.8, 0}, {0, 0, 1}}, {70, 50, 20});
  for (const ColourAxes& axes : {principal_axes(pixels), codec::kSomeAxes, ColourAxes{}}) {
    const std::vector<float> colours = along_axes(pixels, axes);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      double sum = axes.mean[i % 3] / 256.0;
      for (std::size_t k = 0; k < 3; ++k)
        sum += axes.matrix[i % 3][k] / 64.0 *
               (static_cast<double>(colours[i / 3 * 3 + k]) - codec::kAxesMiddle / 4096.0);
      ASSERT_NEAR(255 * sum, pixels[i], 1e-3);
    }
  }
}

TEST(PackColours, GreyAndFlatPicturesHaveAxesToo) {
  std::vector<std::uint8_t> grey, flat(300, 7);
  for (int i = 0; i < 300; ++i) grey.push_back(static_cast<std::uint8_t>(i / 3 * 2));
  for (const auto& pixels : {grey, flat, std::vector<std::uint8_t>{100, 120, 130}}) {
    const ColourAxes axes = principal_axes(pixels);
    EXPECT_EQ(axes.matrix, ColourAxes{}.matrix);
    for (const float c : along_axes(pixels, axes)) EXPECT_LT(std::abs(c - 0.449f), 0.6f);
  }
}

}  // namespace
}  // namespace veldt::pack
