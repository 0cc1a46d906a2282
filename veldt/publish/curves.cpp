// Fits curves between corners, and halves where one curve is not near enough.
#include "veldt/publish/curves.h"

#include <algorithm>
#include <cmath>

namespace veldt::publish {
namespace {

constexpr int kRounds = 8;  // of moving the parameters of points to the nearest place on the curve

Point at(const Cubic& c, double t) {
  const double u = 1 - t;
  return c[0] * (u * u * u) + c[1] * (3 * u * u * t) + c[2] * (3 * u * t * t) + c[3] * (t * t * t);
}
Point slope_at(const Cubic& c, double t) {
  const double u = 1 - t;
  return (c[1] - c[0]) * (3 * u * u) + (c[2] - c[1]) * (6 * u * t) + (c[3] - c[2]) * (3 * t * t);
}
Point bend_at(const Cubic& c, double t) {
  return (c[2] - c[1] * 2 + c[0]) * (6 * (1 - t)) + (c[3] - c[2] * 2 + c[1]) * (6 * t);
}

using Line = std::vector<Point>;

std::vector<double> by_length(const Line& line) {
  std::vector<double> out = {0};
  for (std::size_t i = 1; i < line.size(); ++i) out.push_back(out.back() + length(line[i] - line[i - 1]));
  for (double& t : out) t /= out.back();
  return out;
}

// The curve of these end tangents that is nearest to the points, by least squares.
Cubic fitted(const Line& line, const std::vector<double>& ts, Point from, Point to) {
  const Point first = line.front(), last = line.back();
  double aa = 0, ab = 0, bb = 0, ar = 0, br = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const double t = ts[i], u = 1 - t;
    const Point a = from * (3 * u * u * t), b = to * (3 * u * t * t);
    const Point rest = line[i] - first * (u * u * (u + 3 * t)) - last * (t * t * (t + 3 * u));
    aa += dot(a, a);
    ab += dot(a, b);
    bb += dot(b, b);
    ar += dot(a, rest);
    br += dot(b, rest);
  }
  const double span = length(last - first), whole = aa * bb - ab * ab;
  double alpha = whole != 0 ? (ar * bb - br * ab) / whole : 0,
         beta = whole != 0 ? (aa * br - ab * ar) / whole : 0;
  // Where that is no curve: a third of the way, as Wu and Barsky have it.
  if (!(alpha > 1e-6 * span) || !(beta > 1e-6 * span) || alpha > 4 * span + 1 || beta > 4 * span + 1)
    alpha = beta = span / 3;
  return {first, first + from * alpha, last + to * beta, last};
}

struct Worst {
  double error;
  std::size_t point;
};
Worst worst_of(const Line& line, const std::vector<double>& ts, const Cubic& curve) {
  Worst out{0, line.size() / 2};
  for (std::size_t i = 1; i + 1 < line.size(); ++i)
    if (const double error = length(at(curve, ts[i]) - line[i]); error > out.error) out = {error, i};
  return out;
}

// Newton's step for each point's place on the curve.
void move_places(const Line& line, std::vector<double>& ts, const Cubic& curve) {
  for (std::size_t i = 1; i + 1 < line.size(); ++i) {
    const Point off = at(curve, ts[i]) - line[i], slope = slope_at(curve, ts[i]);
    const double down = dot(slope, slope) + dot(off, bend_at(curve, ts[i]));
    if (down > 1e-12) ts[i] = std::clamp(ts[i] - dot(off, slope) / down, 0.0, 1.0);
  }
}

// The direction of a line around a point, from up to `reach` before it and behind.
Point direction(const Line& line, std::size_t i, double reach) {
  std::size_t a = i, b = i;
  while (a > 0 && length(line[i] - line[a]) < reach) --a;
  while (b + 1 < line.size() && length(line[b] - line[i]) < reach) ++b;
  return unit(line[b] - line[a]);
}

void fit_line(const Line& line, Point from, Point to, const CurveOptions& options, std::vector<Cubic>& out) {
  if (line.size() == 2) {
    const double third = length(line[1] - line[0]) / 3;
    out.push_back({line[0], line[0] + from * third, line[1] + to * third, line[1]});
    return;
  }
  std::vector<double> ts = by_length(line);
  Cubic curve = fitted(line, ts, from, to);
  Worst worst = worst_of(line, ts, curve);
  for (int round = 0; round < kRounds && worst.error > options.error && worst.error < 8 * options.error;
       ++round) {
    move_places(line, ts, curve);
    curve = fitted(line, ts, from, to);
    worst = worst_of(line, ts, curve);
  }
  if (worst.error <= options.error) {
    out.push_back(curve);
    return;
  }
  const auto cut = static_cast<std::ptrdiff_t>(worst.point);
  const Point through = direction(line, worst.point, options.reach / 2);
  fit_line(Line(line.begin(), line.begin() + cut + 1), from, through * -1, options, out);
  fit_line(Line(line.begin() + cut, line.end()), through, to, options, out);
}

// The point `reach` along the loop from point i, forwards or backwards.
Point away(const Loop& loop, std::size_t i, double reach, bool forwards) {
  const std::size_t n = loop.size();
  std::size_t k = i;
  for (double passed = 0; passed < reach;) {
    const std::size_t next = forwards ? (k + 1) % n : (k + n - 1) % n;
    if (next == i) break;
    const double step = length(loop[next] - loop[k]);
    if (passed + step > reach) return loop[k] + (loop[next] - loop[k]) * ((reach - passed) / step);
    passed += step;
    k = next;
  }
  return loop[k];
}

// The points of the sharpest turns, at least a reach apart.
std::vector<std::size_t> corners_of(const Loop& loop, const CurveOptions& options) {
  std::vector<std::pair<double, std::size_t>> turns;
  for (std::size_t i = 0; i < loop.size(); ++i) {
    const Point in = unit(loop[i] - away(loop, i, options.reach, false)),
                out = unit(away(loop, i, options.reach, true) - loop[i]);
    const double turn = std::acos(std::clamp(dot(in, out), -1.0, 1.0));
    if (turn > options.turn) turns.emplace_back(-turn, i);
  }
  std::sort(turns.begin(), turns.end());
  std::vector<std::size_t> out;
  for (const auto& [turn, i] : turns)
    if (std::all_of(out.begin(), out.end(),
                    [&, at = loop[i]](std::size_t k) { return length(at - loop[k]) > options.reach; }))
      out.push_back(i);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<Cubic> fit_curves(const Loop& loop, const CurveOptions& options) {
  std::vector<Cubic> out;
  const std::vector<std::size_t> corners = corners_of(loop, options);
  const std::size_t n = loop.size();
  if (corners.empty()) {
    Line line(loop);
    line.push_back(loop[0]);
    const Point through =
        unit(away(loop, 0, options.reach / 2, true) - away(loop, 0, options.reach / 2, false));
    fit_line(line, through, through * -1, options, out);
    return out;
  }
  for (std::size_t c = 0; c < corners.size(); ++c) {
    const std::size_t begin = corners[c], end = corners[(c + 1) % corners.size()];
    Line line = {loop[begin]};
    for (std::size_t i = begin; i != end || line.size() == 1;) line.push_back(loop[i = (i + 1) % n]);
    const std::size_t last = line.size() - 1;
    const auto ahead = [&](std::size_t from, bool forwards) {
      std::size_t k = from;
      while ((forwards ? k < last : k > 0) && length(line[k] - line[from]) < options.reach / 2)
        forwards ? ++k : --k;
      return unit(line[k] - line[from]);
    };
    fit_line(line, ahead(0, true), ahead(last, false), options, out);
  }
  return out;
}

}  // namespace veldt::publish
