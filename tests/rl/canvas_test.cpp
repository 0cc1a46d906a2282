// Shapes on a canvas: their area, their colours, and that nothing is drawn outside.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "veldt/core/error.h"
#include "veldt/rl/canvas.h"
#include "veldt/rl/environments.h"
#include "veldt/rl/vector_environment.h"

namespace veldt::rl {
namespace {

// How much is covered by black, in pixels.
double covered(const Canvas& canvas) {
  double dark = 0;
  for (std::size_t i = 0; i < canvas.pixels().size(); i += 3) dark += 255 - canvas.pixels()[i];
  return dark / 255;
}

constexpr Colour kInk{0, 0, 0};

TEST(Canvas, ShapesHaveTheirArea) {
  Canvas disc(60, 40), line(60, 40), box(60, 40), triangle(60, 40);
  disc.disc({30.3, 20.7}, 11.5, kInk);
  EXPECT_NEAR(covered(disc), M_PI * 11.5 * 11.5, 1);
  line.line({10, 10}, {40, 30}, 4, kInk);
  EXPECT_NEAR(covered(line), 4 * std::hypot(30, 20) + M_PI * 4, 2);
  box.rectangle(10, 10, 20.5, 15, kInk);
  EXPECT_NEAR(covered(box), 52.5, 0.5);
  for (const bool turned : {false, true}) {
    triangle.clear();
    const std::vector<Point> corners =
        turned ? std::vector<Point>{{5, 5}, {5, 35}, {45, 5}} : std::vector<Point>{{5, 5}, {45, 5}, {5, 35}};
    triangle.polygon(corners, kInk);
    EXPECT_NEAR(covered(triangle), 600, 6);
  }
}

TEST(Canvas, WhatLiesOutsideOrNowhereIsNotDrawn) {
  Canvas canvas(20, 20);
  canvas.disc({-50, -50}, 10, kInk);
  canvas.line({1e9, 1e9}, {2e9, 1e9}, 3, kInk);
  canvas.disc({std::nan(""), 4}, 4, kInk);
  canvas.rectangle(0, 0, std::numeric_limits<double>::infinity(), 10, kInk);
  EXPECT_EQ(covered(canvas), 0);
  canvas.disc({0, 0}, 10, kInk);
  EXPECT_NEAR(covered(canvas), M_PI * 25, 1);
  EXPECT_THROW(Canvas(0, 5), ConfigError);
  EXPECT_THROW(Canvas(5, 5000), ConfigError);
}

TEST(Canvas, EveryEnvironmentDrawsItsState) {
  for (const std::string& name : environment_names()) {
    VectorEnvironment world(make_environment(name), 1, 3);
    Canvas before(300, 200), after(300, 200);
    world.environment().draw(world.state(0), before);
    EXPECT_GT(covered(before), 100) << name;
    for (int i = 0; i < 5; ++i)
      if (world.spec().is_discrete())
        world.step(std::vector<std::int64_t>{1});
      else
        world.step(std::vector<float>{1});
    world.environment().draw(world.state(0), after);
    EXPECT_NE(before.pixels(), after.pixels()) << name;
  }
}

}  // namespace
}  // namespace veldt::rl
