// Rows of veldt/ops/softmax.h, scan.h and sort.h: what each line along a dimension becomes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/scan.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/sort.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using Line = std::vector<double>;
using OfLine = std::function<Line(const Line&)>;

// `of` of every line of x along `dim`; its results may be shorter.
Values along(const Values& x, int dim, const OfLine& of) {
  const auto line_at = [&](Shape index) {
    Line line;
    for (index[dim] = 0; index[dim] < x.shape[dim]; ++index[dim])
      line.push_back(x.v[static_cast<std::size_t>(position_of(x.shape, index))]);
    return line;
  };
  Shape shape = x.shape;
  shape[dim] = static_cast<std::int64_t>(of(Line(static_cast<std::size_t>(x.shape[dim]), 0.0)).size());
  return build(shape,
               [&](const Shape& index) { return of(line_at(index))[static_cast<std::size_t>(index[dim])]; });
}

OpRow line_row(const char* name, std::function<Tensor(const Tensor&, int)> op, OfLine value, OfLine magnitude,
               int order, double ulps) {
  OpRow row{.name = name,
            .inputs = {{.low = -2, .high = 2.2, .distinct = true}},
            .cases = {},
            .order = order,
            .ulps = ulps};
  const auto add = [&](Shape shape, int dim) {
    row.cases.push_back({str(shape, " along ", dim),
                         {shape},
                         [=](In in) { return op(in[0], dim); },
                         [=](const std::vector<Values>& in) {
                           const int d = dim < 0 ? dim + in[0].shape.rank() : dim;
                           Expected out{along(in[0], d, value)};
                           if (magnitude) out.magnitude = along(in[0], d, magnitude).v;
                           return out;
                         }});
  };
  add({2}, 0);
  add({7}, 0);
  add({3, 4}, 0);
  add({3, 4}, -1);
  add({2, 3, 2}, 1);
  add({3, 0}, 0);
  add({40, 67}, 0);
  add({40, 67}, 1);
  return row;
}

Line softmax_of(const Line& x) {
  const double most = x.empty() ? 0 : *std::max_element(x.begin(), x.end());
  double total = 0;
  for (double v : x) total += std::exp(v - most);
  Line out;
  for (double v : x) out.push_back(std::exp(v - most) / total);
  return out;
}

Line log_of(Line x) {
  for (double& v : x) v = std::log(v);
  return x;
}

Line running(const Line& x, double start, double (*join)(double, double)) {
  Line out;
  for (double v : x) out.push_back(start = join(start, v));
  return out;
}

Line order_of(const Line& x, bool descending) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return descending ? x[a] > x[b] : x[a] < x[b]; });
  return {order.begin(), order.end()};
}

Line sorted(Line x) {
  std::sort(x.begin(), x.end());
  return x;
}

Line sizes(const Line& x) { return Line(x.size(), 4.0); }

}  // namespace

std::vector<OpRow> line_rows() {
  std::vector<OpRow> rows;
  rows.push_back(line_row("softmax", softmax, softmax_of, {}, 3, 8));
  rows.push_back(line_row(
      "log_softmax", log_softmax, [](const Line& x) { return log_of(softmax_of(x)); }, sizes, 3, 4));
  rows.push_back(line_row(
      "logsumexp", [](const Tensor& x, int dim) { return logsumexp(x, {dim}, true); },
      [](const Line& x) {
        double total = 0;
        for (double v : x) total += std::exp(v);
        return Line{std::log(total)};
      },
      [](const Line&) { return Line{4.0}; }, 3, 4));
  rows.push_back(line_row(
      "cumsum", cumsum, [](const Line& x) { return running(x, 0, [](double a, double b) { return a + b; }); },
      [](const Line& x) { return running(x, 0, [](double a, double b) { return a + std::fabs(b); }); }, 2,
      2));
  rows.push_back(line_row(
      "cumprod", cumprod,
      [](const Line& x) { return running(x, 1, [](double a, double b) { return a * b; }); }, {}, 3, 64));
  rows.push_back(line_row(
      "cummax", [](const Tensor& x, int dim) { return cummax(x, dim).values; },
      [](const Line& x) { return running(x, -INFINITY, [](double a, double b) { return std::max(a, b); }); },
      {}, 2, 0));
  rows.push_back(line_row(
      "cummin", [](const Tensor& x, int dim) { return cummin(x, dim).values; },
      [](const Line& x) { return running(x, INFINITY, [](double a, double b) { return std::min(a, b); }); },
      {}, 2, 0));
  rows.push_back(line_row(
      "sort", [](const Tensor& x, int dim) { return sort(x, dim).values; }, sorted, {}, 2, 0));
  rows.push_back(line_row(
      "topk",
      [](const Tensor& x, int dim) { return topk(x, std::min<std::int64_t>(2, x.size(dim)), dim).values; },
      [](const Line& x) {
        Line all = sorted(x);
        std::reverse(all.begin(), all.end());
        all.resize(std::min<std::size_t>(2, all.size()));
        return all;
      },
      {}, 2, 0));
  rows.push_back(line_row(
      "median",
      [](const Tensor& x, int dim) { return x.size(dim) > 0 ? median(x, dim, true).values : zeros_like(x); },
      [](const Line& x) { return x.empty() ? x : Line{sorted(x)[(x.size() - 1) / 2]}; }, {}, 2, 0));
  for (bool descending : {false, true}) {
    rows.push_back(line_row(
        descending ? "argsort_descending" : "argsort",
        [=](const Tensor& x, int dim) { return argsort(x, dim, descending); },
        [=](const Line& x) { return order_of(x, descending); }, {}, 0, 0));
    rows.back().result = DType::i64;
  }
  return rows;
}

}  // namespace veldt::test
