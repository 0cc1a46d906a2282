// Outlines, the curves along them, and the SVG of a field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  for (const double y : places)
    for (const double x : places) values.push_back(static_cast<float>(f(Point{x, y})));
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

TEST(Outlines, OfWhatFillsThePictureHaveItsCorners) {
  const std::vector<Loop> loops = outlines_of(8, [](Point p) {
    return publish::length(p - Point{4, 4}) - 2;
  });
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_NEAR(std::max(std::abs(publish::area(loops[0])), std::abs(publish::area(loops[1]))), 64, 1e-9);
}

TEST(Outlines, MeetTheBorderWhereTheFunctionDoes) {
  const std::vector<Loop> loops = outlines_of(8, [](Point p) { return 4.1 + 0.5 * p.y - p.x; });
  ASSERT_EQ(loops.size(), 1u);
  for (const Point end : {Point{4.1, 0}, Point{8, 7.8}})
    EXPECT_TRUE(std::any_of(loops[0].begin(), loops[0].end(),
                            [&](Point p) { return publish::length(p - end) < 1e-3; }));
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

// A rectangle whose sides wobble and whose corners are round, as those of a field.
Loop wobbling_frame() {
  Loop frame;
  const auto put = [&](double x, double y, double nx, double ny) {
    const double off = 0.02 * std::sin(7 * x + 5 * y);
    frame.push_back({x + off * nx, y + off * ny});
  };
  const auto round = [&](double x, double y, double from) {
    for (int i = 1; i < 6; ++i) {
      const double angle = (from + i * 15) * std::numbers::pi / 180;
      frame.push_back(Point{x, y} + Point{std::cos(angle), std::sin(angle)} * 0.3);
    }
  };
  for (double x = 0.3; x < 29.65; x += 0.25) put(x, 0, 0, 1);
  round(29.7, 0.3, -90);
  for (double y = 0.3; y < 19.65; y += 0.25) put(30, y, 1, 0);
  round(29.7, 19.7, 0);
  for (double x = 29.7; x > 0.35; x -= 0.25) put(x, 20, 0, 1);
  round(0.3, 19.7, 90);
  for (double y = 19.7; y > 0.35; y -= 0.25) put(0, y, 1, 0);
  round(0.3, 0.3, 180);
  return frame;
}

TEST(Curves, AFrameIsFourLinesWithSharpCorners) {
  const auto curves = publish::fit_curves(wobbling_frame());
  EXPECT_EQ(curves.size(), 4u);
  for (const auto& c : curves) {
    EXPECT_TRUE(publish::is_straight(c));
    EXPECT_NEAR(std::min(c[0].x, 30 - c[0].x), 0, 0.03);
    EXPECT_NEAR(std::min(c[0].y, 20 - c[0].y), 0, 0.03);
  }
}

// The largest distance of a point from the curves.
double most_off(const Loop& loop, const std::vector<publish::Cubic>& curves) {
  double most = 0;
  for (const Point p : loop) {
    double least = 1e9;
    for (const auto& c : curves)
      for (int i = 0; i <= 500; ++i) least = std::min(least, publish::length(on(c, i / 500.0) - p));
    most = std::max(most, least);
  }
  return most;
}

Loop round_rectangle(double width, double height, double radius) {
  Loop loop;
  const Point middles[] = {{width - radius, radius},
                           {width - radius, height - radius},
                           {radius, height - radius},
                           {radius, radius}};
  for (int corner = 0; corner < 4; ++corner) {
    const auto at = [&](double degrees) {
      const double angle = degrees * std::numbers::pi / 180;
      return Point{std::cos(angle), std::sin(angle)} * radius;
    };
    for (int i = 0; i < 9; ++i) loop.push_back(middles[corner] + at(90 * (corner - 1) + i * 11.25));
    const Point from = middles[corner] + at(90 * corner), to = middles[(corner + 1) % 4] + at(90 * corner);
    for (int i = 0; i < 50; ++i) loop.push_back(from + (to - from) * (i / 50.0));
  }
  return loop;
}

TEST(Curves, RoundCornersStayRound) {
  for (const double radius : {0.9, 1.4})
    for (const double error : {0.03, 0.1}) {
      const Loop loop = round_rectangle(14, 11, radius);
      const auto curves = publish::fit_curves(loop, {.error = error});
      EXPECT_LT(most_off(loop, curves), 2.1 * error) << "radius " << radius << " error " << error;
      EXPECT_TRUE(
          std::any_of(curves.begin(), curves.end(), [](auto& c) { return !publish::is_straight(c); }));
    }
}

TEST(Curves, SharpCornersAreNear) {
  for (const double error : {0.03, 0.1}) {
    for (const double radius : {0.4, 0.6, 0.8}) {
      const Loop loop = round_rectangle(14, 11, radius);
      EXPECT_LT(most_off(loop, publish::fit_curves(loop, {.error = error})), 0.25) << "radius " << radius;
    }
  }
}

TEST(Curves, OfWideArcsAreNotPolygons) {
  Loop circle;
  for (int i = 0; i < 4000; ++i)
    circle.push_back(Point{std::cos(i * std::numbers::pi / 2000), std::sin(i * std::numbers::pi / 2000)} *
                     200);
  const auto curves = publish::fit_curves(circle, {.error = 0.1});
  EXPECT_LE(curves.size(), 16u);
  EXPECT_TRUE(std::none_of(curves.begin(), curves.end(), [](auto& c) { return publish::is_straight(c); }));
}

// The edges of a triangle of two tones, which wobble as the steps of its pixels do.
TEST(Curves, OfLongSlantedEdgesAreLines) {
  const Point corners[] = {{5, 70}, {160, 5}, {315, 70}};
  Loop triangle;
  for (int side = 0; side < 3; ++side) {
    const Point from = corners[side], way = corners[(side + 1) % 3] - from;
    const double size = publish::length(way);
    const Point across{-way.y / size, way.x / size};
    for (double s = 0; s < size; s += 0.25)
      triangle.push_back(from + way * (s / size) +
                         across * (side == 2 ? 0 : (0.2 + 0.06 * std::sin(s * 0.13)) * std::sin(s * 2.4)));
  }
  const auto curves = publish::fit_curves(triangle, {.error = 0.1});
  EXPECT_LE(curves.size(), 9u);
  double straight = 0;
  for (const auto& c : curves)
    if (publish::is_straight(c)) straight += publish::length(c[3] - c[0]);
  EXPECT_GT(straight, 630);  // of 646
}

TEST(Curves, GoAlongTheBorderToTheirEnds) {
  Loop wedge;  // comes to the top of a picture at an angle that is no corner elsewhere
  for (int i = 0; i <= 40; ++i) wedge.push_back({i * 0.5, 0});
  for (int i = 1; i <= 40; ++i) wedge.push_back({20 + i * 0.5, i * 0.35});
  for (int i = 1; i <= 40; ++i) wedge.push_back({40.0 - i, 14});
  for (int i = 1; i < 40; ++i) wedge.push_back({0, 14 - i * 0.35});
  const auto curves = publish::fit_curves(wedge, {.border = {50, 50}});
  EXPECT_TRUE(std::any_of(curves.begin(), curves.end(), [](auto& c) { return c[0].x == 20 && c[0].y == 0; }));
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

// Ink in all corners: a bright disc alone is not ink.
TEST(Svg, InkReachesTheCornersOfThePicture) {
  if (std::system("rsvg-convert --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "rsvg-convert is not here";
  const TempDir dir;
  const Tensor picture = empty({24, 24, 1});
  for (std::int64_t y = 0; y < 24; ++y)
    for (std::int64_t x = 0; x < 24; ++x)
      picture.data<float>()[y * 24 + x] = std::hypot(x - 11.5, y - 11.5) < 7 ? 1.0f : 0.0f;
  field::FitOptions options;
  options.steps = 60;
  options.seed = 1;
  options.model = field::Model::siren;
  io::write_file(dir / "a.svg", publish::svg(field::fit(picture, options)).text);
  ASSERT_EQ(std::system(str("rsvg-convert -w 960 ", dir / "a.svg", " -o ", dir / "a.png").c_str()), 0);
  const Tensor drawn = io::read_image(dir / "a.png");
  for (const std::int64_t y : {0, 959})
    for (const std::int64_t x : {0, 959})
      EXPECT_LT(drawn.data<float>()[(y * 960 + x) * drawn.size(2)], 0.01f);
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
