// Cubic Bezier curves along lines of points: Schneider, "An algorithm for automatically fitting digitized
// curves", Graphics Gems, 1990.
// Tests: tests/publish/svg_test.cpp
#pragma once

#include <array>
#include <vector>

#include "veldt/publish/outline.h"

namespace veldt::publish {

using Cubic = std::array<Point, 4>;

struct CurveOptions {
  // No point is further from its curve. Straight lines may be twice as far, those longer than 36 four times,
  // and where two of them meet in a sharp corner the points that were round there are left out: those of a
  // right corner up to 0.25 away.
  double error = 0.03;
  // A point is a corner if what lies this far before and behind it turns by more than `turn` (radians) there.
  double reach = 0.75, turn = 0.9;
  // A line has corners where it comes to the border of a picture of this size. 0, 0: there is none.
  Point border{};
};

// The curves of a closed line, each beginning where the one before ends; smooth but at its corners. What is
// straight over a length of kStraight is one that is_straight().
std::vector<Cubic> fit_curves(const Loop& loop, const CurveOptions& options = {});
bool is_straight(const Cubic& curve);
inline constexpr double kStraight = 6;

}  // namespace veldt::publish
