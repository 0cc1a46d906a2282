// Rows of veldt/ops/interpolate.h. The oracle weighs every element of x by how far it lies from where the
// result looks, in double.
#include <algorithm>
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/interpolate.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;

// The weights of x's elements, `in` of them, in element `o` of `out`; `step` is a step's length in x.
std::vector<double> interpolation_weights(std::int64_t in, std::int64_t out, double step, std::int64_t o,
                                          Interpolation mode, bool align) {
  std::vector<double> w(static_cast<std::size_t>(in), 0);
  const auto add = [&](double at, double weight) {
    w[static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(in - 1)))] += weight;
  };
  const auto place = static_cast<double>(o);
  if (mode == Interpolation::nearest) return add(std::floor(place * step + 1e-9), 1), w;
  if (mode == Interpolation::nearest_exact) return add(std::floor((place + 0.5) * step + 1e-9), 1), w;
  double at = (place + 0.5) * step - 0.5;
  if (align) at = out > 1 ? place * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  if (mode == Interpolation::linear) {
    at = std::max(at, 0.0);
    for (double tap = std::floor(at); tap <= std::floor(at) + 1; ++tap) add(tap, 1 - std::abs(tap - at));
    return w;
  }
  for (double tap = std::floor(at) - 1; tap <= std::floor(at) + 2; ++tap) {
    const double x = std::abs(tap - at), a = -0.75;
    add(tap, x <= 1 ? (a + 2) * x * x * x - (a + 3) * x * x + 1
                    : a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a);
  }
  return w;
}

Values resized(const Values& x, const Shape& to, const std::vector<double>& steps, Interpolation mode,
               bool align, bool magnitude) {
  return build(to, [&](const Shape& index) {
    Shape at = index;
    const std::function<double(int)> sum = [&](int d) {
      if (d == x.shape.rank()) return magnitude ? std::abs(x.at(at)) : x.at(at);
      const auto w = interpolation_weights(x.shape[d], to[d], steps[static_cast<std::size_t>(d - 2)],
                                           index[d], mode, align);
      double total = 0;
      for (std::int64_t i = 0; i < x.shape[d]; ++i) {
        const double weight = w[static_cast<std::size_t>(i)];
        at[d] = i;
        if (weight != 0) total += (magnitude ? std::abs(weight) : weight) * sum(d + 1);
      }
      return total;
    };
    return sum(2);
  });
}

}  // namespace

std::vector<OpRow> interpolate_rows() {
  OpRow row{.name = "interpolate", .inputs = {{}}, .cases = {}, .order = 2, .ulps = 64};
  const auto add = [&](const char* label, const Shape& x, const InterpolateOptions& o) {
    Shape to = x;
    std::vector<double> steps;
    for (int d = 2; d < x.rank(); ++d) {
      const auto in = static_cast<double>(x[d]);
      if (o.size) {
        to[d] = o.size->of(x.rank() - 2)[d - 2];
        steps.push_back(in / static_cast<double>(to[d]));
      } else {
        const double f = o.scale_factor[std::min(o.scale_factor.size() - 1, static_cast<std::size_t>(d - 2))];
        to[d] = static_cast<std::int64_t>(in * f);
        steps.push_back(1 / f);
      }
    }
    row.cases.push_back({label,
                         {x},
                         [o](In in) { return interpolate(in[0], o); },
                         [=](const std::vector<Values>& in) {
                           return Expected{resized(in[0], to, steps, o.mode, o.align_corners, false),
                                           resized(in[0], to, steps, o.mode, o.align_corners, true).v};
                         }});
  };
  using enum Interpolation;
  add("nearest, twice", {2, 1, 3}, {.scale_factor = {2}});
  add("nearest, odd sizes", {1, 2, 5, 3}, {.size = {{7, 2}}});
  add("nearest, by thirds", {1, 1, 3}, {.size = 49});
  add("nearest, a volume", {1, 1, 2, 2, 3}, {.scale_factor = {2, 1, 0.5}});
  add("nearest exact", {1, 1, 4, 5}, {.size = {{6, 3}}, .mode = nearest_exact});
  add("linear, twice", {2, 1, 4}, {.scale_factor = {2}, .mode = linear});
  add("linear, smaller", {1, 2, 5, 4}, {.size = {{3, 2}}, .mode = linear});
  add("linear, a fraction", {1, 1, 5, 3}, {.scale_factor = {1.7}, .mode = linear});
  add("linear, corners", {1, 1, 3, 4}, {.size = {{5, 7}}, .mode = linear, .align_corners = true});
  add("linear, one", {1, 1, 3, 1}, {.size = {{1, 4}}, .mode = linear, .align_corners = true});
  add("linear, a volume", {1, 1, 2, 3, 2}, {.size = {{3, 4, 2}}, .mode = linear});
  add("cubic", {1, 1, 4, 5}, {.size = {{7, 3}}, .mode = cubic});
  add("cubic, corners", {1, 1, 4, 3}, {.size = {{6, 5}}, .mode = cubic, .align_corners = true});
  add("the same size", {1, 1, 4, 3}, {.size = {{4, 3}}, .mode = cubic});
  add("no examples", {0, 2, 3}, {.scale_factor = {2}, .mode = linear});
  add("many", {2, 3, 37, 41}, {.size = {{64, 19}}, .mode = linear});
  return {row};
}

}  // namespace veldt::test
