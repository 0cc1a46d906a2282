// Outlines, the curves along them, and the SVG of a field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numbers>

#include "tests/publish/fields.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/field/fit.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/ops/shape.h"
#include "veldt/publish/curves.h"
#include "veldt/publish/svg.h"
#include "veldt/train/picture_scores.h"

namespace veldt::test {
namespace {

using publish::Loop;
using publish::Point;

// The outlines of a function, sampled at n x n places of 0..n.
template <class F> std::vector<Loop> outlines_of(int n, const F& f) {
  std::vector<double> places = {0};
  for (int i = 0; i < n; ++i) places.push_back(i + 0.5);
  places.push_back(n);
  std::vector<float> values;
  for (int y = 0; y < n; ++y)
    for (int x = 0; x < n; ++x) values.push_back(static_cast<float>(f(Point{x + 0.5, y + 0.5})));
  return publish::outlines(places, places, values, [&](const std::vector<Point>& points) {
    std::vector<float> out;
    for (const Point p : points) out.push_back(static_cast<float>(f(p)));
    return out;
  });
}

Point on(const publish::Cubic& c, double t) {
  const double u = 1 - t;
  return c[0] * (u * u * u) + c[1] * (3 * u * u * t) + c[2] * (3 * u * t * t) + c[3] * (t * t * t);
}

TEST(Outlines, OfARingAreTwoCirclesOfOppositeTurns) {
  const auto ring = [](Point p) {
    const double r = publish::length(p - Point{10, 10});
    return std::tanh(5 * (1.5 - std::abs(r - 6)));
  };
  const std::vector<Loop> loops = outlines_of(20, ring);
  ASSERT_EQ(loops.size(), 2u);
  const double first = publish::area(loops[0]), second = publish::area(loops[1]);
  EXPECT_LT(first * second, 0);
  EXPECT_NEAR(std::abs(first) + std::abs(second), std::numbers::pi * (7.5 * 7.5 + 4.5 * 4.5), 2);
  for (const Loop& loop : loops)
    for (const Point p : loop)  // found on the function itself, not on a line between two samples
      EXPECT_NEAR(std::abs(publish::length(p - Point{10, 10}) - 6), 1.5, 0.02);
}

TEST(Outlines, EndAtTheBorderExactly) {
  const std::vector<Loop> loops = outlines_of(8, [](Point p) { return 4 - p.x; });
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_NEAR(std::abs(publish::area(loops[0])), 32, 0.5);
  double least = 8;
  for (const Point p : loops[0]) least = std::min(least, p.x);
  EXPECT_EQ(least, 0);
}

TEST(Curves, OfACircleAreFewAndNear) {
  Loop circle;
  for (int i = 0; i < 200; ++i)
    circle.push_back(Point{std::cos(i * std::numbers::pi / 100), std::sin(i * std::numbers::pi / 100)} * 10);
  const auto curves = publish::fit_curves(circle, {.error = 0.02});
  EXPECT_LE(curves.size(), 10u);
  for (const auto& c : curves)
    for (double t = 0; t <= 1; t += 0.1) EXPECT_NEAR(publish::length(on(c, t)), 10, 0.03);
}

TEST(Curves, KeepTheCornersOfASquare) {
  Loop square;
  for (int side = 0; side < 4; ++side)
    for (int i = 0; i < 20; ++i) {
      const Point corners[] = {{0, 0}, {5, 0}, {5, 5}, {0, 5}, {0, 0}};
      square.push_back(corners[side] + (corners[side + 1] - corners[side]) * (i / 20.0));
    }
  const auto curves = publish::fit_curves(square);
  EXPECT_EQ(curves.size(), 4u);
  for (const auto& c : curves) {
    EXPECT_NEAR(std::fmod(c[0].x, 5), 0, 1e-9);
    EXPECT_NEAR(std::fmod(c[0].y, 5), 0, 1e-9);
  }
}

// A disc with a hole and a bar, of two tones.
field::Field fitted_drawing() {
  const Tensor picture = empty({32, 32, 1});
  for (std::int64_t y = 0; y < 32; ++y)
    for (std::int64_t x = 0; x < 32; ++x) {
      const double r = std::hypot(x - 12.0, y - 12.0);
      picture.data<float>()[y * 32 + x] =
          (r < 9 && r > 4) || (x > 22 && x < 28 && y > 3 && y < 29) ? 0.0f : 1.0f;
    }
  field::FitOptions options;
  options.steps = 200;
  options.seed = 1;
  options.model = field::Model::siren;
  return field::fit(picture, options);
}

TEST(Svg, DrawsWhatTheFieldDraws) {
  if (std::system("rsvg-convert --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "rsvg-convert is not here";
  const TempDir dir;
  const field::Field field = fitted_drawing();
  const publish::Svg svg = publish::svg(field, {.title = "a <disc> & \"bar\""});
  EXPECT_GE(svg.outlines, 3);
  EXPECT_THAT(svg.text, testing::HasSubstr("a &lt;disc&gt; &amp; &quot;bar&quot;"));
  io::write_file(dir / "a.svg", svg.text);
  ASSERT_EQ(std::system(str("rsvg-convert -w 320 ", dir / "a.svg", " -o ", dir / "a.png").c_str()), 0);
  const Tensor drawn = io::read_image(dir / "a.png"), truth = field::ImageField(field).render({320, 320});
  ASSERT_EQ(drawn.size(0), 320);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < 320 * 320; ++i) {
    const float a = drawn.data<float>()[i * drawn.size(2)], b = truth.data<float>()[i];
    wrong += std::abs(a - b) > 0.6f ? 1 : 0;
  }
  EXPECT_LT(wrong, 320 * 320 / 1000);
}

TEST(Svg, OfPixelArtIsRectangles) {
  field::FieldOptions o = published_options(field::Activation::siren, 1);
  o.squares = true;
  o.period = 2;
  o.tones = {};
  publish::Parts parts = publish::parts_of(field::Field(o, 1));
  for (float& x : parts.layers.back().weight) x *= 1000;  // black or white
  const publish::Svg svg = publish::svg(publish::field_of(parts));
  EXPECT_GT(svg.outlines, 0);
  EXPECT_EQ(svg.curves, 0);
  EXPECT_THAT(svg.text, testing::HasSubstr("v2h"));
}

TEST(Svg, RefusesWhatHasTooManyPixels) {
  field::FieldOptions o = published_options(field::Activation::siren, 1);
  o.width = 1 << 14;
  o.height = 1 << 12;
  EXPECT_THROW(publish::svg(field::Field(o, 1)), ConfigError);
}

TEST(Svg, RefusesColoursAndGreys) {
  EXPECT_THROW(publish::svg(published_field(published_options(field::Activation::siren, 3))), ConfigError);
  EXPECT_THROW(publish::svg(published_field(published_options(field::Activation::siren, 1))), ConfigError);
}

}  // namespace
}  // namespace veldt::test
