// Walks around what is positive, cell by cell.
#include "veldt/publish/outline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>

namespace veldt::publish {
namespace {

constexpr int kRefinements = 2;

// An edge of the lattice that a line crosses: from a vertex to the next one along x or y.
struct Crossing {
  Point from, to;
  double at_from, at_to;  // of different signs
};

// The lattice with a ring of negative values around it, each at the place of its neighbour on the border.
class Lattice {
 public:
  Lattice(const std::vector<double>& xs, const std::vector<double>& ys, const std::vector<float>& values)
      : xs_(xs), ys_(ys), values_(values), wide_(std::ssize(xs) + 2), high_(std::ssize(ys) + 2) {}

  std::int64_t wide() const { return wide_; }
  std::int64_t high() const { return high_; }
  bool is_ring(std::int64_t x, std::int64_t y) const {
    return x == 0 || y == 0 || x + 1 == wide_ || y + 1 == high_;
  }
  double value(std::int64_t x, std::int64_t y) const {
    if (is_ring(x, y)) return -1;
    const auto v = static_cast<double>(values_[static_cast<std::size_t>((y - 1) * (wide_ - 2) + x - 1)]);
    return v == 0 ? 1e-9 : v;
  }
  Point place(std::int64_t x, std::int64_t y) const {
    return {xs_[static_cast<std::size_t>(std::clamp<std::int64_t>(x - 1, 0, wide_ - 3))],
            ys_[static_cast<std::size_t>(std::clamp<std::int64_t>(y - 1, 0, high_ - 3))]};
  }

  // An edge's number: of the one from x, y to the right, or down.
  std::int64_t across(std::int64_t x, std::int64_t y) const { return 2 * (y * wide_ + x); }
  std::int64_t down(std::int64_t x, std::int64_t y) const { return across(x, y) + 1; }
  Crossing crossing(std::int64_t edge) const {
    const std::int64_t x = edge / 2 % wide_, y = edge / 2 / wide_;
    const std::int64_t to_x = x + (edge % 2 == 0 ? 1 : 0), to_y = y + (edge % 2 == 0 ? 0 : 1);
    return {place(x, y), place(to_x, to_y), value(x, y), value(to_x, to_y)};
  }
  bool is_border(std::int64_t edge) const {
    const std::int64_t x = edge / 2 % wide_, y = edge / 2 / wide_;
    return is_ring(x, y) || is_ring(x + (edge % 2 == 0 ? 1 : 0), y + (edge % 2 == 0 ? 0 : 1));
  }

 private:
  const std::vector<double>&xs_, &ys_;
  const std::vector<float>& values_;
  std::int64_t wide_, high_;
};

using Steps = std::unordered_map<std::int64_t, std::int64_t>;

// The lines of a cell, from edge to edge, with what is positive on the right hand (in a picture, whose y goes
// down).
void walk_cell(const Lattice& lattice, std::int64_t x, std::int64_t y, Steps& next) {
  const double a = lattice.value(x, y), b = lattice.value(x + 1, y), c = lattice.value(x + 1, y + 1),
               d = lattice.value(x, y + 1);
  const int corners = (a > 0 ? 1 : 0) | (b > 0 ? 2 : 0) | (c > 0 ? 4 : 0) | (d > 0 ? 8 : 0);
  if (corners == 0 || corners == 15) return;
  const std::int64_t top = lattice.across(x, y), right = lattice.down(x + 1, y),
                     bottom = lattice.across(x, y + 1), left = lattice.down(x, y);
  const bool is_joined = a + b + c + d > 0;  // the middle, where two corners across are positive
  switch (corners) {
    case 1: next[left] = top; break;
    case 2: next[top] = right; break;
    case 3: next[left] = right; break;
    case 4: next[right] = bottom; break;
    case 5:
      next[left] = is_joined ? bottom : top;
      next[right] = is_joined ? top : bottom;
      break;
    case 6: next[top] = bottom; break;
    case 7: next[left] = bottom; break;
    case 8: next[bottom] = left; break;
    case 9: next[bottom] = top; break;
    case 10:
      next[top] = is_joined ? left : right;
      next[bottom] = is_joined ? right : left;
      break;
    case 11: next[bottom] = right; break;
    case 12: next[right] = left; break;
    case 13: next[right] = top; break;
    default: next[top] = left; break;
  }
}

// By regula falsi with the trick of Illinois (Dowell and Jarratt 1971): each round's points are computed
// together.
void refine(std::vector<Crossing>& crossings, const std::vector<bool>& is_border,
            const std::function<std::vector<float>(const std::vector<Point>&)>& at) {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < crossings.size(); ++i)
    if (!is_border[i]) which.push_back(i);
  std::vector<int> side(crossings.size(), 0);
  for (int round = 0; round < kRefinements; ++round) {
    std::vector<Point> places;
    for (const std::size_t i : which) {
      const Crossing& c = crossings[i];
      places.push_back(c.from + (c.to - c.from) * (c.at_from / (c.at_from - c.at_to)));
    }
    const std::vector<float> values = at(places);
    for (std::size_t k = 0; k < which.size(); ++k) {
      Crossing& c = crossings[which[k]];
      const double value = values[k] == 0 ? 1e-12 : static_cast<double>(values[k]);
      const bool replaces_from = (value > 0) == (c.at_from > 0);
      (replaces_from ? c.from : c.to) = places[k];
      (replaces_from ? c.at_from : c.at_to) = value;
      int& last = side[which[k]];
      if (last == (replaces_from ? 1 : -1)) (replaces_from ? c.at_to : c.at_from) /= 2;
      last = replaces_from ? 1 : -1;
    }
  }
}

}  // namespace

double dot(Point a, Point b) { return a.x * b.x + a.y * b.y; }
double length(Point a) { return std::hypot(a.x, a.y); }
Point unit(Point a) {
  const double n = length(a);
  return n > 0 ? a * (1 / n) : a;
}

double area(const Loop& loop) {
  double sum = 0;
  for (std::size_t i = 0; i < loop.size(); ++i) {
    const Point a = loop[i], b = loop[(i + 1) % loop.size()];
    sum += a.x * b.y - b.x * a.y;
  }
  return sum / 2;
}

std::vector<Loop> outlines(const std::vector<double>& xs, const std::vector<double>& ys,
                           const std::vector<float>& values,
                           const std::function<std::vector<float>(const std::vector<Point>&)>& at) {
  const Lattice lattice(xs, ys, values);
  Steps next;
  std::vector<std::int64_t> edges;  // in a fixed order
  for (std::int64_t y = 0; y + 1 < lattice.high(); ++y)
    for (std::int64_t x = 0; x + 1 < lattice.wide(); ++x) {
      walk_cell(lattice, x, y, next);
      for (const std::int64_t edge : {lattice.across(x, y), lattice.down(x, y)})
        if (const Crossing c = lattice.crossing(edge); (c.at_from > 0) != (c.at_to > 0))
          edges.push_back(edge);
    }
  std::vector<Crossing> crossings;
  std::vector<bool> is_border;
  std::unordered_map<std::int64_t, std::size_t> number;
  for (const std::int64_t edge : edges) {
    number[edge] = crossings.size();
    crossings.push_back(lattice.crossing(edge));
    is_border.push_back(lattice.is_border(edge));
  }
  refine(crossings, is_border, at);
  std::vector<bool> seen(crossings.size(), false);
  std::vector<Loop> out;
  for (const std::int64_t first : edges) {
    if (seen[number.at(first)]) continue;
    Loop loop;
    for (std::int64_t edge = first; !seen[number.at(edge)]; edge = next.at(edge)) {
      seen[number.at(edge)] = true;
      const Crossing& c = crossings[number.at(edge)];
      const Point p = c.from + (c.to - c.from) * (c.at_from / (c.at_from - c.at_to));
      if (loop.empty() || length(p - loop.back()) > 1e-9) loop.push_back(p);
    }
    if (loop.size() > 2) out.push_back(std::move(loop));
  }
  return out;
}

}  // namespace veldt::publish
