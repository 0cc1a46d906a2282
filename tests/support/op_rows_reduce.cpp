// Rows of veldt/ops/reduce.h and gather.h. Oracles are plain loops over all elements.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/reduce.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using Each = std::function<void(std::size_t to, double x)>;

// The reduced dimensions as a mask; an empty list means all.
std::vector<bool> reduced_mask(const Shape& shape, const Dims& dims) {
  std::vector<bool> mask(static_cast<std::size_t>(shape.rank()), dims.empty());
  for (int d : dims) mask[static_cast<std::size_t>(d < 0 ? d + shape.rank() : d)] = true;
  return mask;
}

Shape result_shape(const Shape& shape, const std::vector<bool>& mask, bool keepdim) {
  Shape out;
  for (int d = 0; d < shape.rank(); ++d) {
    if (!mask[static_cast<std::size_t>(d)])
      out.push_back(shape[d]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

// The elements of x that each element of the result is made from.
std::vector<std::vector<double>> groups(const Values& x, const std::vector<bool>& mask) {
  const Shape kept = result_shape(x.shape, mask, true);
  std::vector<std::vector<double>> out(static_cast<std::size_t>(numel(kept)));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    Shape index = index_of(x.shape, i);
    for (int d = 0; d < index.rank(); ++d)
      if (mask[static_cast<std::size_t>(d)]) index[d] = 0;
    out[static_cast<std::size_t>(position_of(kept, index))].push_back(x.v[static_cast<std::size_t>(i)]);
  }
  return out;
}

double sum_of(const std::vector<double>& v) {
  long double s = 0;
  for (double x : v) s += static_cast<long double>(x);
  return static_cast<double>(s);
}

double mean_of(const std::vector<double>& v) { return sum_of(v) / static_cast<double>(v.size()); }

double variance_of(const std::vector<double>& v, int correction) {
  const double m = mean_of(v);
  std::vector<double> squares;
  for (double x : v) squares.push_back((x - m) * (x - m));
  const std::int64_t free = static_cast<std::int64_t>(v.size()) - correction;
  return sum_of(squares) / static_cast<double>(std::max<std::int64_t>(0, free));
}

// The sizes of the terms that a result is summed from.
double terms_of_sum(const std::vector<double>& v) {
  double s = 0;
  for (double x : v) s += std::fabs(x);
  return s;
}

double terms_of_mean(const std::vector<double>& v) { return terms_of_sum(v) / static_cast<double>(v.size()); }

double terms_of_variance(const std::vector<double>& v) {
  double s = 0;
  for (double x : v) s += x * x;
  return s / static_cast<double>(v.size());
}

using Group = std::function<double(const std::vector<double>&)>;

Oracle reduction(Dims dims, bool keepdim, Group value, Group terms = {}) {
  return [=](const std::vector<Values>& in) {
    const auto mask = reduced_mask(in[0].shape, dims);
    Expected out{{result_shape(in[0].shape, mask, keepdim), {}}};
    for (const auto& group : groups(in[0], mask)) {
      out.values.v.push_back(value(group));
      if (terms) out.magnitude.push_back(terms(group));
    }
    return out;
  };
}

using Reduce = std::function<Tensor(const Tensor&, const Dims&, bool)>;

OpRow reduce_row(const char* name, Reduce op, Group value, Group terms, int order, double ulps) {
  const bool empty_too = static_cast<bool>(terms);  // a maximum of nothing is an Error
  OpRow row{.name = name, .inputs = {{.distinct = true}}, .cases = {}, .order = order, .ulps = ulps};
  const auto add = [&](Shape shape, Dims dims, bool keepdim) {
    std::string label = str(shape, " over");
    for (int d : dims) label += str(' ', d);
    row.cases.push_back({label + (keepdim ? " kept" : ""),
                         {shape},
                         [=](In in) { return op(in[0], dims, keepdim); },
                         reduction(dims, keepdim, value, terms)});
  };
  for (bool keepdim : {false, true}) {
    add({}, {}, keepdim);
    add({5}, {}, keepdim);
    add({3, 4}, {}, keepdim);
    add({3, 4}, {0}, keepdim);
    add({3, 4}, {-1}, keepdim);
    add({2, 3, 4}, {1}, keepdim);
    add({2, 3, 4}, {0, 2}, keepdim);
    add({2, 3, 2}, {2, 1, 0}, keepdim);
    add({2, 1, 3}, {1}, keepdim);
    add({2, 2, 3, 2}, {1, -1}, keepdim);
    add({3, 0}, {0}, keepdim);
    add({37, 67}, {0}, keepdim);
    add({37, 67}, {1}, keepdim);
    add({3, 9, 129}, {0, 2}, keepdim);
    add({3, 70, 9}, {1}, keepdim);
    if (!empty_too) continue;
    add({3, 0}, {1}, keepdim);
    add({0}, {}, keepdim);
  }
  return row;
}

OpRow arg_row(const char* name, Tensor (*op)(const Tensor&, int, bool), bool largest) {
  OpRow row{
      .name = name, .inputs = {{.distinct = true}}, .cases = {}, .order = 0, .ulps = 0, .result = DType::i64};
  const auto add = [&](Shape shape, int dim, bool keepdim) {
    row.cases.push_back({str(shape, " along ", dim, keepdim ? " kept" : ""),
                         {shape},
                         [=](In in) { return op(in[0], dim, keepdim); },
                         reduction({dim}, keepdim, [largest](const std::vector<double>& v) {
                           const auto at = largest ? std::max_element(v.begin(), v.end())
                                                   : std::min_element(v.begin(), v.end());
                           return static_cast<double>(at - v.begin());
                         })});
  };
  for (bool keepdim : {false, true}) {
    add({1}, 0, keepdim);
    add({67}, 0, keepdim);
    add({3, 4}, 0, keepdim);
    add({3, 4}, -1, keepdim);
    add({2, 5, 3}, 1, keepdim);
    add({0, 3}, 1, keepdim);
  }
  return row;
}

// Sums over the dimensions along which `to` was broadcast.
OpRow sum_to_row() {
  OpRow row{.name = "sum_to", .inputs = {{}}, .cases = {}};
  const auto add = [&](Shape from, Shape to) {
    row.cases.push_back({str(from, " to ", to),
                         {from},
                         [to](In in) { return sum_to(in[0], to); },
                         [to](const std::vector<Values>& in) {
                           Expected out{build(to, [](const Shape&) { return 0.0; })};
                           const int lead = in[0].shape.rank() - to.rank();
                           for (std::int64_t i = 0; i < in[0].size(); ++i) {
                             const Shape index = index_of(in[0].shape, i);
                             Shape at = to;
                             for (int d = 0; d < to.rank(); ++d) at[d] = to[d] == 1 ? 0 : index[lead + d];
                             out.values.v[static_cast<std::size_t>(position_of(to, at))] +=
                                 in[0].v[static_cast<std::size_t>(i)];
                           }
                           out.magnitude.assign(out.values.v.size(), 2.0);
                           return out;
                         }});
  };
  add({3, 4}, {3, 4});
  add({3, 4}, {4});
  add({3, 4}, {3, 1});
  add({2, 3, 4}, {1, 4});
  add({2, 3, 4}, {});
  add({2, 3}, {1, 1});
  add({0, 3}, {1, 3});
  return row;
}

Values pick(const Values& x, const Values& index, int dim) {
  return build(index.shape, [&](const Shape& at) {
    Shape from = at;
    from[dim] = static_cast<std::int64_t>(index.at(at));
    return x.v[static_cast<std::size_t>(position_of(x.shape, from))];
  });
}

OpRow gather_row() {
  // The rows below all have at least three positions along dim.
  OpRow row{
      .name = "gather", .inputs = {{}, {.low = 0, .high = 3, .dtype = DType::i64}}, .cases = {}, .ulps = 0};
  const auto add = [&](Shape x, int dim, Shape index) {
    row.cases.push_back({str(x, " along ", dim, " by ", index),
                         {x, index},
                         [dim](In in) { return gather(in[0], dim, in[1]); },
                         [dim](const std::vector<Values>& in) {
                           return Expected{pick(in[0], in[1], dim < 0 ? dim + in[0].shape.rank() : dim)};
                         }});
  };
  add({3}, 0, {5});
  add({3, 4}, 0, {2, 4});
  add({3, 4}, -1, {3, 7});
  add({4, 3}, 1, {2, 5});
  add({2, 3, 2}, 1, {2, 4, 2});
  add({3, 4}, 0, {0, 4});
  return row;
}

OpRow index_select_row() {
  OpRow row{.name = "index_select",
            .inputs = {{}, {.low = 0, .high = 3, .dtype = DType::i64}},
            .cases = {},
            .ulps = 0};
  const auto add = [&](Shape x, int dim, std::int64_t n) {
    row.cases.push_back({str(x, " along ", dim, ", ", n),
                         {x, {n}},
                         [dim](In in) { return index_select(in[0], dim, in[1]); },
                         [dim](const std::vector<Values>& in) {
                           const int d = dim < 0 ? dim + in[0].shape.rank() : dim;
                           Shape shape = in[0].shape;
                           shape[d] = in[1].shape[0];
                           const Values index = build(shape, [&](const Shape& at) {
                             return in[1].v[static_cast<std::size_t>(at[d])];
                           });
                           return Expected{pick(in[0], index, d)};
                         }});
  };
  add({3}, 0, 5);
  add({3, 4}, 0, 2);
  add({2, 3}, -1, 4);
  add({2, 3, 2}, 1, 3);
  add({3, 2}, 0, 0);
  return row;
}

double norm_of(const std::vector<double>& v, double p) {
  double total = 0, most = 0;
  for (double x : v) {
    total += std::pow(std::fabs(x), p);
    most = std::max(most, std::fabs(x));
  }
  return std::isinf(p) ? most : std::pow(total, 1 / p);
}

// Inputs stay away from 0, where |x| has a kink.
OpRow norm_row(const char* name, double p, int order) {
  OpRow row = reduce_row(
      name, [p](const Tensor& x, const Dims& dims, bool keepdim) { return norm(x, p, dims, keepdim); },
      [p](const std::vector<double>& v) { return norm_of(v, p); }, {}, order, 64);
  row.inputs[0].high = 2.4;
  return row;
}

std::vector<OpRow> product_rows() {
  std::vector<OpRow> rows;
  const auto terms = [](const std::vector<double>&) { return 0.0; };
  rows.push_back(reduce_row(
      "prod", prod,
      [](const std::vector<double>& v) {
        double y = 1;
        for (double x : v) y *= x;
        return y;
      },
      terms, 2, 4000));
  rows.push_back(norm_row("norm", 2, 3));
  rows.push_back(norm_row("norm_1", 1, 2));
  rows.push_back(norm_row("norm_3", 3, 3));
  rows.push_back(norm_row("norm_largest", INFINITY, 2));
  rows.push_back(reduce_row(
      "stddev", [](const Tensor& x, const Dims& dims, bool keepdim) { return stddev(x, dims, keepdim, 0); },
      [](const std::vector<double>& v) { return std::sqrt(variance_of(v, 0)); }, terms_of_mean, 3, 64));
  // One number has no slope there: the root of 0.
  std::erase_if(rows.back().cases, [](const OpCase& c) {
    return c.label.starts_with("[]") || c.label.starts_with("[2, 1, 3]");
  });
  for (bool each : {false, true}) {
    rows.push_back(reduce_row(
        each ? "all" : "any", each ? all : any,
        [each](const std::vector<double>& v) {
          const auto holds = [](double x) { return x != 0; };
          return static_cast<double>(each ? std::all_of(v.begin(), v.end(), holds)
                                          : std::any_of(v.begin(), v.end(), holds));
        },
        terms, 0, 0));
    rows.back().inputs = {{.low = 0, .high = 2, .dtype = DType::boolean}};
    rows.back().result = DType::boolean;
  }
  return rows;
}

}  // namespace

std::vector<OpRow> reduce_rows() {
  const auto largest = [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); };
  const auto smallest = [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); };
  std::vector<OpRow> rows;
  rows.push_back(reduce_row("sum", sum, sum_of, terms_of_sum, 2, 64));
  rows.push_back(reduce_row("mean", mean, mean_of, terms_of_mean, 2, 64));
  rows.push_back(reduce_row("max", max, largest, {}, 2, 0));
  rows.push_back(reduce_row("min", min, smallest, {}, 2, 0));
  rows.push_back(reduce_row(
      "variance",
      [](const Tensor& x, const Dims& dims, bool keepdim) { return variance(x, dims, keepdim, 0); },
      [](const std::vector<double>& v) { return variance_of(v, 0); }, terms_of_variance, 3, 64));
  OpRow bessel = reduce_row(
      "variance_of_a_sample",
      [](const Tensor& x, const Dims& dims, bool keepdim) { return variance(x, dims, keepdim); },
      [](const std::vector<double>& v) { return variance_of(v, 1); }, terms_of_variance, 2, 64);
  // One number has no such variance: 0 / 0.
  std::erase_if(bessel.cases, [](const OpCase& c) {
    return c.label.starts_with("[]") || c.label.starts_with("[2, 1, 3]");
  });
  rows.push_back(bessel);
  rows.push_back(arg_row("argmax", argmax, true));
  rows.push_back(arg_row("argmin", argmin, false));
  for (OpRow& row : product_rows()) rows.push_back(std::move(row));
  rows.push_back(sum_to_row());
  rows.push_back(gather_row());
  rows.push_back(index_select_row());
  return rows;
}

}  // namespace veldt::test
