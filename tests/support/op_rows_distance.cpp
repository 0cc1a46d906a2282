// Rows of veldt/ops/distance.h.
#include <algorithm>
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/distance.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;

// A value for each pair of lines of both inputs along dimension d; `shape` without it gives the sizes.
Values by_line(const Values& a, const Values& b, Shape shape, int d,
               const std::function<double(const std::vector<double>&, const std::vector<double>&)>& value) {
  const std::int64_t n = shape[d];
  return build(shape.without(d), [&](const Shape& index) {
    Shape at = index.with_inserted(d, 0);
    std::vector<double> x, y;
    for (std::int64_t i = 0; i < n; ++i) {
      at[d] = i;
      x.push_back(a.at(at));
      y.push_back(b.at(at));
    }
    return value(x, y);
  });
}

double length(const std::vector<double>& x, double p) {
  double total = 0;
  for (const double v : x) total += std::pow(std::abs(v), p);
  return std::pow(total, 1 / p);
}

OpRow cosine_row() {
  OpRow row{.name = "cosine_similarity", .inputs = {{}, {}}, .cases = {}, .ulps = 16, .half_ulps = 2};
  const auto add = [&](const Shape& a, const Shape& b, const Shape& both, int dim, double eps) {
    row.cases.push_back({str(a, " and ", b, " along ", dim),
                         {a, b},
                         [=](In in) { return cosine_similarity(in[0], in[1], dim - both.rank(), eps); },
                         [=](const std::vector<Values>& in) {
                           const auto cosine = [&](bool magnitude) {
                             return by_line(in[0], in[1], both, dim, [&](const auto& x, const auto& y) {
                               double product = 0;
                               for (std::size_t i = 0; i < x.size(); ++i)
                                 product += magnitude ? std::abs(x[i] * y[i]) : x[i] * y[i];
                               return product / std::max(length(x, 2), eps) / std::max(length(y, 2), eps);
                             });
                           };
                           return Expected{cosine(false), cosine(true).v};
                         }});
  };
  add({4, 3}, {4, 3}, {4, 3}, 1, 1e-8);
  add({2, 3, 2}, {3, 2}, {2, 3, 2}, 1, 1e-8);
  add({3, 2}, {3, 1}, {3, 2}, 0, 1e-8);
  add({1, 2}, {1, 1}, {1, 2}, 1, 1e-8);
  add({2, 3}, {3}, {2, 3}, 0, 1e-8);
  add({2, 3}, {2, 3}, {2, 3}, 1, 20);
  return row;
}

OpRow pairwise_row() {
  OpRow row{.name = "pairwise_distance",
            .inputs = {{.low = 1, .high = 2}, {.low = -1, .high = 0}},
            .cases = {},
            .ulps = 16,
            .half_ulps = 1};
  for (const double p : {1.0, 2.0, 3.0})
    for (const double eps : {1e-6, 0.5})
      row.cases.push_back({str("norm ", p, " plus ", eps),
                           {{2, 3}, {3}},
                           [=](In in) { return pairwise_distance(in[0], in[1], p, eps); },
                           [=](const std::vector<Values>& in) {
                             return Expected{by_line(in[0], in[1], {2, 3}, 1, [&](auto x, const auto& y) {
                               for (std::size_t i = 0; i < x.size(); ++i) x[i] += eps - y[i];
                               return length(x, p);
                             })};
                           }});
  return row;
}

OpRow normalize_row() {
  OpRow row{.name = "normalize", .inputs = {{.avoid = {0}}}, .cases = {}, .ulps = 16};
  for (const double p : {1.0, 2.0})
    for (const double eps : {1e-12, 20.0})
      row.cases.push_back({str("norm ", p, ", at least ", eps),
                           {{2, 3, 2}},
                           [=](In in) { return normalize(in[0], p, 1, eps); },
                           [=](const std::vector<Values>& in) {
                             const Values lengths = by_line(
                                 in[0], in[0], in[0].shape, 1,
                                 [&](const auto& x, const auto&) { return std::max(length(x, p), eps); });
                             return Expected{build(in[0].shape, [&](const Shape& at) {
                               return in[0].at(at) / lengths.at(at.without(1));
                             })};
                           }});
  return row;
}

}  // namespace

std::vector<OpRow> distance_rows() { return {cosine_row(), pairwise_row(), normalize_row()}; }

}  // namespace veldt::test
