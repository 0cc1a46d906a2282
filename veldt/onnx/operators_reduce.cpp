// Reductions, order along an axis, running sums, softmax.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/scan.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/sort.h"

namespace veldt::onnx {

namespace {

using Reduction = Tensor (*)(const Tensor&, const Dims&);

Tensor sum_of(const Tensor& x, const Dims& d) { return sum(x, d, true); }
Tensor mean_of(const Tensor& x, const Dims& d) {
  return is_float(x.dtype())
             ? mean(x, d, true)
             : floor_divide(
                   sum(x, d, true),
                   std::max<std::int64_t>(1, x.numel() / std::max<std::int64_t>(1, sum(x, d, true).numel())));
}
// Over nothing: the smallest, or largest, number of the type.
Tensor extreme(const Tensor& x, const Dims& d, bool largest) {
  bool nothing = false;
  Shape shape = x.shape();
  for (const int i : d) {
    nothing |= shape[i] == 0;
    shape[i] = 1;
  }
  if (nothing && numel(shape) > 0) {
    if (is_float(x.dtype()))
      return full(
          shape, largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity(),
          x.dtype(), x.device());
    if (x.dtype() == DType::boolean) return full(shape, largest ? 0 : 1, x.dtype(), x.device());
    if (x.dtype() == DType::i64)
      return full(
          shape,
          largest ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max(),
          x.dtype(), x.device());
    return full(shape,
                largest ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int32_t>::max(),
                x.dtype(), x.device());
  }
  if (x.dtype() == DType::boolean) return largest ? any(x, d, true) : all(x, d, true);
  return largest ? max(x, d, true) : min(x, d, true);
}
Tensor max_of(const Tensor& x, const Dims& d) { return extreme(x, d, true); }
Tensor min_of(const Tensor& x, const Dims& d) { return extreme(x, d, false); }
Tensor product_of(const Tensor& x, const Dims& d) { return prod(x, d, true); }
Tensor l1_of(const Tensor& x, const Dims& d) { return sum(abs(x), d, true); }
Tensor l2_of(const Tensor& x, const Dims& d) {
  return is_float(x.dtype()) ? norm(x, 2, d, true) : sqrt(to(sum(square(x), d, true), DType::f64));
}
Tensor log_sum_of(const Tensor& x, const Dims& d) { return log(sum(x, d, true)); }
Tensor log_sum_exp_of(const Tensor& x, const Dims& d) {
  return logsumexp(is_float(x.dtype()) ? x : to(x, DType::f64), d, true);
}
Tensor sum_square_of(const Tensor& x, const Dims& d) { return sum(square(x), d, true); }

// The axes are an input since version 13 (sums) or 18, an attribute before. None are all, or, if so asked,
// nothing.
template <Reduction fn> Values reduce(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::vector<std::int64_t> given = c.given(1, "axes").value_or(std::vector<std::int64_t>());
  std::vector<int> axes = axes_of(c, given, x.rank());
  if (axes.empty() && c.integer("noop_with_empty_axes", 0) != 0) {
    // The formula of each element remains: the square, the logarithm.
    return {fitted(reshape(fn(unsqueeze(x, x.rank()), {x.rank()}), x.shape()), c.type(0))};
  }
  if (axes.empty())
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
  Tensor y = x.rank() == 0 ? reshape(fn(reshape(x, {1}), {0}), {}) : fn(x, axes);
  if (c.integer("keepdims", 1) == 0) {
    Shape shape;
    for (int d = 0; d < x.rank(); ++d)
      if (std::find(axes.begin(), axes.end(), d) == axes.end()) shape.push_back(x.size(d));
    y = reshape(y, shape);
  }
  return {fitted(y, c.type(0))};
}

template <bool largest> Values arg_extreme(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int axis = c.axis(c.integer("axis", 0), x.rank());
  const bool keep = c.integer("keepdims", 1) != 0;
  const auto find = [&](const Tensor& t) { return largest ? argmax(t, axis, keep) : argmin(t, axis, keep); };
  if (c.integer("select_last_index", 0) == 0) return {find(x)};
  return {sub(x.size(axis) - 1, find(flip(x, {axis})))};
}

Values top_k(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::int64_t k = c.has(1) ? c.integer(1) : c.integer("k");
  const int axis = c.axis(c.integer("axis", -1), x.rank());
  const Sorted found = topk(x, k, axis, c.integer("largest", 1) != 0);
  return {{found.values, c.type(0)}, found.indices};
}

Values cumulative(const Call& c, Tensor (*fn)(const Tensor&, int), double first) {
  Tensor x = c.tensor(0);
  const int axis = c.axis(c.integer(1), x.rank());
  const bool reverse = c.integer("reverse", 0) != 0;
  if (reverse) x = flip(x, {axis});
  if (c.integer("exclusive", 0) != 0 && x.size(axis) > 0) {
    Shape one = x.shape();
    one[axis] = 1;
    x = cat({full(one, first, x.dtype(), x.device()), narrow(x, axis, 0, x.size(axis) - 1)}, axis);
  }
  Tensor y = fn(x, axis);
  if (reverse) y = flip(y, {axis});
  return {fitted(y, c.type(0))};
}
Values cumulative_sum(const Call& c) { return cumulative(c, cumsum, 0); }
Values cumulative_product(const Call& c) { return cumulative(c, cumprod, 1); }

// Before version 13 all dimensions from the axis on are one.
template <class Fn> Values along_axis(const Call& c, const Fn& fn) {
  const Tensor& x = c.tensor(0);
  const int axis = c.axis(c.integer("axis", c.opset() < 13 ? 1 : -1), x.rank());
  if (c.opset() >= 13) return {fn(x, axis)};
  std::int64_t before = 1, after = 1;
  for (int d = 0; d < x.rank(); ++d) (d < axis ? before : after) *= x.size(d);
  return {reshape(fn(reshape(x, {before, after}), 1), x.shape())};
}
Values softmax_op(const Call& c) {
  return along_axis(c, [](const Tensor& x, int d) { return softmax(x, d); });
}
Values log_softmax_op(const Call& c) {
  return along_axis(c, [](const Tensor& x, int d) { return log_softmax(x, d); });
}
Values hardmax(const Call& c) {
  return along_axis(c, [](const Tensor& x, int d) {
    return to(movedim(one_hot(argmax(x, d), x.size(d)), x.rank() - 1, d), x.dtype());
  });
}

// Rows in order, for which NaN is the largest number and equals itself.
struct NanLast {
  bool operator()(double a, double b) const { return std::isnan(a) ? false : std::isnan(b) || a < b; }
  bool operator()(const std::vector<double>& a, const std::vector<double>& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), *this);
  }
};

// The distinct elements, or slices, and where they first are, which each one is, and how many there are of
// each.
Values unique(const Call& c) {
  const Tensor& input = c.tensor(0);
  const bool whole = !c.has("axis");
  const int axis = whole ? 0 : c.axis(c.integer("axis"), input.rank());
  const Tensor x = whole ? reshape(input, {input.numel(), 1}) : movedim(input, axis, 0);
  const std::int64_t rows = x.size(0);
  const Tensor flat = contiguous(reshape(x, {rows, rows > 0 ? x.numel() / rows : 0}));
  const std::int64_t width = flat.size(1);
  std::map<std::vector<double>, std::int64_t, NanLast> known;  // i64 beyond 2^53 would meet
  std::map<std::vector<std::int64_t>, std::int64_t> known_integers;
  std::vector<std::int64_t> first, which, counts;
  const auto gather_rows = [&](auto& seen, const auto& values) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const typename std::decay_t<decltype(seen)>::key_type row(values.begin() + i * width,
                                                                values.begin() + (i + 1) * width);
      const auto [place, fresh] = seen.insert({row, static_cast<std::int64_t>(first.size())});
      if (fresh) {
        first.push_back(i);
        counts.push_back(0);
      }
      which.push_back(place->second);
      ++counts[static_cast<std::size_t>(place->second)];
    }
    if (c.integer("sorted", 1) == 0) return;
    std::vector<std::int64_t> rank(first.size()), sorted_first, sorted_counts;
    for (const auto& [row, place] : seen) {
      rank[static_cast<std::size_t>(place)] = static_cast<std::int64_t>(sorted_first.size());
      sorted_first.push_back(first[static_cast<std::size_t>(place)]);
      sorted_counts.push_back(counts[static_cast<std::size_t>(place)]);
    }
    for (std::int64_t& w : which) w = rank[static_cast<std::size_t>(w)];
    first = sorted_first;
    counts = sorted_counts;
  };
  if (is_float(input.dtype()))
    gather_rows(known, host<double>(flat));
  else
    gather_rows(known_integers, host<std::int64_t>(flat));
  Tensor values = index_select(x, 0, list_of(first, x.device()));
  values = whole ? reshape(values, {values.size(0)}) : movedim(values, 0, axis);
  return {{values, c.type(0)}, list_of(first), list_of(which), list_of(counts)};
}

}  // namespace

void add_reductions(OperatorTable& t) {
  t.add("ReduceSum", reduce<sum_of>, 1);
  t.add("ReduceMean", reduce<mean_of>, 1);
  t.add("ReduceMax", reduce<max_of>, 1);
  t.add("ReduceMin", reduce<min_of>, 1);
  t.add("ReduceProd", reduce<product_of>, 1);
  t.add("ReduceL1", reduce<l1_of>, 1);
  t.add("ReduceL2", reduce<l2_of>, 1);
  t.add("ReduceLogSum", reduce<log_sum_of>, 1);
  t.add("ReduceLogSumExp", reduce<log_sum_exp_of>, 1);
  t.add("ReduceSumSquare", reduce<sum_square_of>, 1);
  t.add("ArgMax", arg_extreme<true>);
  t.add("ArgMin", arg_extreme<false>);
  t.add("TopK", top_k, 1);
  t.add("CumSum", cumulative_sum, 1);
  t.add("CumProd", cumulative_product, 1);
  t.add("Softmax", softmax_op, 1);
  t.add("LogSoftmax", log_softmax_op, 1);
  t.add("Hardmax", hardmax);
  t.add("Unique", unique);
}

}  // namespace veldt::onnx
