// The outlines of what is above 0 in a sampled function: marching squares (Lorensen and Cline 1987, in the
// plane).
// Tests: tests/publish/svg_test.cpp
#pragma once

#include <functional>
#include <vector>

namespace veldt::publish {

struct Point {
  double x = 0, y = 0;
  friend Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
  friend Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
  friend Point operator*(Point a, double s) { return {a.x * s, a.y * s}; }
};
double dot(Point a, Point b);
double length(Point a);
Point unit(Point a);  // a itself if it is 0

// A closed line; the last point is joined to the first one.
using Loop = std::vector<Point>;

// values[row by row] at the crossings of the columns xs and the rows ys, which rise; the first and the last
// of both are the border, beyond which all is negative: what reaches it ends exactly there. `at`: the
// function itself, at many points, with which the places on the edges of the lattice are found more exactly
// than by the line between two values. The positive side is on the same hand all along a loop.
std::vector<Loop> outlines(const std::vector<double>& xs, const std::vector<double>& ys,
                           const std::vector<float>& values,
                           const std::function<std::vector<float>(const std::vector<Point>&)>& at);

// Positive if the loop runs clockwise in a picture, whose y goes down.
double area(const Loop& loop);

}  // namespace veldt::publish
