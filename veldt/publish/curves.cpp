// Fits curves between corners, and halves where one curve is not near enough.
#include "veldt/publish/curves.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace veldt::publish {
namespace {

constexpr int kRounds = 8;  // of moving the parameters of points to the nearest place on the curve
constexpr double kSlightTurn = 0.15, kWobble = 2;  // radians; errors that a straight line may be off by

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

double length_of(const Line& line) {
  double sum = 0;
  for (std::size_t i = 1; i < line.size(); ++i) sum += length(line[i] - line[i - 1]);
  return sum;
}
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
  const double span = length(last - first), all = length_of(line), whole = aa * bb - ab * ab;
  double alpha = whole != 0 ? (ar * bb - br * ab) / whole : 0,
         beta = whole != 0 ? (aa * br - ab * ar) / whole : 0;
  // Where that is no curve: a third of the way, as Wu and Barsky have it.
  if (!(alpha > 1e-6 * span) || !(beta > 1e-6 * span) || alpha > all || beta > all) alpha = beta = span / 3;
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

double distance(Point p, Point from, Point to) {
  const Point along = unit(to - from), off = p - from;
  return along.x == 0 && along.y == 0 ? length(off) : std::abs(along.x * off.y - along.y * off.x);
}

// Behind `first`, the points of a polygon that stays near the line's points up to `last`: Douglas and Peucker
// 1973.
void add_polygon(const Line& line, std::size_t first, std::size_t last, double error,
                 std::vector<std::size_t>& out) {
  double most = 0;
  std::size_t far = first;
  for (std::size_t i = first + 1; i < last; ++i)
    if (const double off = distance(line[i], line[first], line[last]); off > most) most = off, far = i;
  if (most > error) {
    add_polygon(line, first, far, error, out);
    add_polygon(line, far, last, error, out);
  } else {
    out.push_back(last);
  }
}

struct Straight {
  std::size_t from, to;
  Point middle, along;  // the straight line that is nearest to the points, by least squares
  Point beside(Point p) const { return middle + along * dot(p - middle, along); }
};

Straight straight_through(const Line& line, std::size_t from, std::size_t to) {
  const double count = static_cast<double>(to - from + 1);
  Point middle;
  for (std::size_t i = from; i <= to; ++i) middle = middle + line[i] * (1 / count);
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = from; i <= to; ++i) {
    const Point off = line[i] - middle;
    xx += off.x * off.x;
    xy += off.x * off.y;
    yy += off.y * off.y;
  }
  const double angle = std::atan2(2 * xy, xx - yy) / 2;
  Point along{std::cos(angle), std::sin(angle)};
  if (dot(along, line[to] - line[from]) < 0) along = along * -1;
  return {from, to, middle, along};
}

// The long straight parts of a line. Where two meet and hardly turn, they are a wide arc, and no straight
// parts.
std::vector<Straight> straights_of(const Line& line, double error) {
  // An arc is as far from its chord as the chord's square is long; what is long may wobble.
  const auto is_near = [&](const Straight& s) {
    const double most = error * std::min(2.0, length(line[s.to] - line[s.from]) / (3 * kStraight));
    double off = 0;
    for (std::size_t k = s.from; k <= s.to; ++k) off = std::max(off, length(line[k] - s.beside(line[k])));
    return off <= most;
  };
  // The ends of a side wobble too, so a coarse polygon finds the long ones.
  std::vector<std::size_t> coarse = {0}, polygon = {0};
  add_polygon(line, 0, line.size() - 1, 4 * error, coarse);
  for (std::size_t i = 0; i + 1 < coarse.size(); ++i) {
    const std::size_t from = coarse[i], to = coarse[i + 1];
    if (length(line[to] - line[from]) >= 6 * kStraight && is_near(straight_through(line, from, to)))
      polygon.push_back(to);
    else
      add_polygon(line, from, to, error, polygon);
  }
  std::vector<Straight> all, out;
  for (std::size_t i = 0; i + 1 < polygon.size(); ++i) {
    if (length(line[polygon[i + 1]] - line[polygon[i]]) < kStraight) continue;
    Straight s = straight_through(line, polygon[i], polygon[i + 1]);
    if (!is_near(s)) continue;
    const auto grows_to = [&](std::size_t from, std::size_t to) {
      const Straight longer = straight_through(line, from, to);
      if (is_near(longer)) s = longer;
      return s.from == from && s.to == to;
    };
    const std::size_t least = all.empty() ? 0 : all.back().to;
    for (std::size_t k = i; k > 0 && polygon[k - 1] >= least && grows_to(polygon[k - 1], s.to); --k) {
    }
    for (; i + 2 < polygon.size() && grows_to(s.from, polygon[i + 2]); ++i) {
    }
    all.push_back(s);
  }
  const auto bends = [&](std::size_t i) {
    return all[i].to == all[i + 1].from && dot(all[i].along, all[i + 1].along) > std::cos(kSlightTurn);
  };
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!(i > 0 && bends(i - 1)) && !(i + 1 < all.size() && bends(i))) out.push_back(all[i]);
  return out;
}

// From one corner to the next, or all around from the first point to the first.
struct Piece {
  Line line;
  std::vector<Straight> straights;
};

Piece piece_of(Line line, const CurveOptions& options) {
  Piece out{std::move(line), {}};
  out.straights = straights_of(out.line, kWobble * options.error);
  for (const Straight& s : out.straights)
    for (const std::size_t end : {s.from, s.to})  // those of the piece stay: others begin there
      if (end > 0 && end + 1 < out.line.size()) out.line[end] = s.beside(out.line[end]);
  return out;
}

// The corner between two straight parts that end near it is where they meet: fields make corners round.
void sharpen(Piece& before, Piece& after, double reach) {
  if (before.straights.empty() || after.straights.empty()) return;
  Straight &a = before.straights.back(), &b = after.straights.front();
  const Point corner = after.line.front();
  const double across = a.along.x * b.along.y - a.along.y * b.along.x;
  if (std::abs(across) < std::sin(kSlightTurn) || length(before.line[a.to] - corner) > reach ||
      length(after.line[b.from] - corner) > reach)
    return;
  const Point off = b.middle - a.middle,
              meeting = a.middle + a.along * ((off.x * b.along.y - off.y * b.along.x) / across);
  if (length(meeting - corner) > reach) return;
  before.line.back() = after.line.front() = meeting;
  a.to = before.line.size() - 1;
  b.from = 0;
}

// A piece from a direction to a direction: its straight parts, and curves between them.
void fit_piece(const Piece& piece, Point from, Point to, const CurveOptions& options,
               std::vector<Cubic>& out) {
  const Line& line = piece.line;
  std::size_t at = 0;
  const auto curves_to = [&](std::size_t end, Point end_direction) {
    const auto begin = line.begin();
    if (end > at)
      fit_line(Line(begin + static_cast<std::ptrdiff_t>(at), begin + static_cast<std::ptrdiff_t>(end) + 1),
               from, end_direction, options, out);
  };
  for (const Straight& s : piece.straights) {
    const Point a = line[s.from], b = line[s.to], third = (b - a) * (1.0 / 3);
    curves_to(s.from, s.along * -1);
    out.push_back({a, a + third, b - third, b});
    at = s.to;
    from = s.along;
  }
  curves_to(line.size() - 1, to);
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

// Of the border's sides: 1 left, 2 right, 4 top, 8 bottom.
int sides_of(Point p, Point border) {
  if (border.x == 0) return 0;
  return (p.x == 0 ? 1 : 0) | (p.x == border.x ? 2 : 0) | (p.y == 0 ? 4 : 0) | (p.y == border.y ? 8 : 0);
}

// Where a line comes to the border, and its sharpest turns elsewhere, at least a reach apart.
std::vector<std::size_t> corners_of(const Loop& loop, const CurveOptions& options) {
  std::vector<std::pair<double, std::size_t>> turns;
  std::vector<std::size_t> corners;
  for (std::size_t i = 0; i < loop.size(); ++i) {
    const Point in = unit(loop[i] - away(loop, i, options.reach, false)),
                out = unit(away(loop, i, options.reach, true) - loop[i]);
    const double turn = std::acos(std::clamp(dot(in, out), -1.0, 1.0));
    const int before = sides_of(loop[(i + loop.size() - 1) % loop.size()], options.border),
              here = sides_of(loop[i], options.border),
              after = sides_of(loop[(i + 1) % loop.size()], options.border);
    if (here != 0 && (before & here & after) == 0)
      corners.push_back(i);
    else if (turn > options.turn)
      turns.emplace_back(-turn, i);
  }
  std::sort(turns.begin(), turns.end());
  for (const auto& [turn, i] : turns)
    if (std::all_of(corners.begin(), corners.end(),
                    [&, at = loop[i]](std::size_t k) { return length(at - loop[k]) > options.reach; }))
      corners.push_back(i);
  std::sort(corners.begin(), corners.end());
  return corners;
}

// The point that is furthest from the middle of all.
std::size_t outermost(const Loop& loop) {
  Point middle;
  for (const Point p : loop) middle = middle + p * (1 / static_cast<double>(loop.size()));
  const auto far = [&](Point a, Point b) { return length(a - middle) < length(b - middle); };
  return static_cast<std::size_t>(std::max_element(loop.begin(), loop.end(), far) - loop.begin());
}

}  // namespace

bool is_straight(const Cubic& c) {
  const Point third = (c[3] - c[0]) * (1.0 / 3);
  return length(c[1] - c[0] - third) + length(c[3] - c[2] - third) < 1e-9;
}

std::vector<Cubic> fit_curves(const Loop& loop, const CurveOptions& options) {
  std::vector<Cubic> out;
  const std::vector<std::size_t> corners = corners_of(loop, options);
  const std::size_t n = loop.size();
  if (corners.empty()) {
    // From a point that is hardly on something straight.
    const std::size_t first = outermost(loop);
    Line line(loop);
    std::rotate(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(first), line.end());
    line.push_back(line[0]);
    const Point through =
        unit(away(loop, first, options.reach / 2, true) - away(loop, first, options.reach / 2, false));
    fit_piece(piece_of(std::move(line), options), through, through * -1, options, out);
    return out;
  }
  std::vector<Piece> pieces;
  for (std::size_t c = 0; c < corners.size(); ++c) {
    const std::size_t begin = corners[c], end = corners[(c + 1) % corners.size()];
    Line line = {loop[begin]};
    for (std::size_t i = begin; i != end || line.size() == 1;) line.push_back(loop[i = (i + 1) % n]);
    pieces.push_back(piece_of(std::move(line), options));
  }
  if (pieces.size() > 1)
    for (std::size_t c = 0; c < pieces.size(); ++c)
      sharpen(pieces[c], pieces[(c + 1) % pieces.size()], options.reach);
  for (const Piece& piece : pieces) {
    const Line& line = piece.line;
    const std::size_t last = line.size() - 1;
    const auto ahead = [&](std::size_t from, bool forwards) {
      std::size_t k = from;
      while ((forwards ? k < last : k > 0) && length(line[k] - line[from]) < options.reach / 2)
        forwards ? ++k : --k;
      return unit(line[k] - line[from]);
    };
    fit_piece(piece, ahead(0, true), ahead(last, false), options, out);
  }
  return out;
}

}  // namespace veldt::publish
