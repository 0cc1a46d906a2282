// Sums, extremes, softmax, norms of lines, running sums.
#include <string>

#include "veldt/onnx/trace.h"

namespace veldt::onnx {
namespace {

int cast_for_sum(TraceNodes& n, int x, DType out) {
  return n.cast(x, is_float(out) || n.dtype(x) == DType::i64 ? out : DType::i64);
}

void reduce_entry(ReduceOp op, const View& x, const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  Sizes dims;
  for (int d = 0; d < x.shape.rank(); ++d)
    if (x.shape[d] != out.shape[d]) dims.push_back(d);
  int value = t.held().read(x);
  const bool extreme = op == ReduceOp::max || op == ReduceOp::min;
  if (x.dtype == DType::boolean && extreme) value = n.cast(value, DType::u8);
  if (!extreme) value = cast_for_sum(n, value, out.dtype);
  static constexpr const char* kNames[] = {"ReduceSum", "ReduceMean", "ReduceProd",
                                           "ReduceMax", "ReduceMin",  "ReduceL2"};
  if (!dims.empty())
    value = n.reduce(kNames[static_cast<int>(op)], value, dims);
  else if (op == ReduceOp::norm)
    value = n.unary("Abs", value);
  t.held().write(out, n.cast(value, out.dtype));
}

void arg_reduce_entry(ReduceOp op, const View& x, int dim, const View& out) {
  Tracer& t = tracing();
  t.held().write(out, t.nodes().node(op == ReduceOp::max ? "ArgMax" : "ArgMin", {t.held().read(x)},
                                     DType::i64, {out.shape.begin(), out.shape.end()},
                                     {{"axis", std::int64_t{dim}}, {"keepdims", std::int64_t{1}}}));
}

void softmax_entry(bool log, const View& x, int dim, const View& out) {
  Tracer& t = tracing();
  const int value = t.nodes().cast(t.held().read(x), out.dtype);
  t.held().write(out, t.nodes().unary(log ? "LogSoftmax" : "Softmax", value, {{"axis", std::int64_t{dim}}}));
}

// x / sqrt(mean of x^2 + eps) weight over the last dimension.
int root_mean_square(TraceNodes& n, int x, double eps, int weight) {
  const Sizes last = {static_cast<std::int64_t>(n.shape(x).size()) - 1};
  const int mean = n.reduce("ReduceMean", n.binary("Mul", x, x), last);
  const int y = n.binary("Div", x, n.unary("Sqrt", n.by("Add", mean, eps)));
  return weight < 0 ? y : n.binary("Mul", y, weight);
}

// A line's groups, each with a weight for runs of neighbours: x [lines, n] as [examples, groups, n].
int norm_of_groups(TraceNodes& n, int x, double eps, int weight, int bias, std::int64_t groups,
                   std::int64_t runs) {
  const DType dtype = n.dtype(x);
  const Sizes flat = n.shape(x);  // [lines, n]
  const std::int64_t examples = flat[0] / groups, line = flat[1];
  const auto ones = [&](double v) {
    return n.numbers(dtype, {groups}, std::vector<double>(static_cast<std::size_t>(groups), v));
  };
  const int apart = n.reshape(x, {examples, groups, line});
  if (runs == 1) {
    const int scale = weight < 0 ? ones(1) : n.reshape(weight, {groups}),
              shift = bias < 0 ? ones(0) : n.reshape(bias, {groups});
    return n.node("InstanceNormalization", {apart, scale, shift}, dtype, n.shape(apart), {{"epsilon", eps}});
  }
  int y =
      n.node("InstanceNormalization", {apart, ones(1), ones(0)}, dtype, n.shape(apart), {{"epsilon", eps}});
  y = n.reshape(y, {examples, groups * runs, line / runs});
  if (weight >= 0) y = n.binary("Mul", y, n.reshape(weight, {groups * runs, 1}));
  if (bias >= 0) y = n.binary("Add", y, n.reshape(bias, {groups * runs, 1}));
  return y;
}

void layer_norm_entry(bool centred, double eps, const View& x, const View* weight, const View* bias,
                      const View& moments, const View& y) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const View* const one = weight ? weight : bias;
  const std::int64_t line = x.shape[1], groups = one ? one->shape[0] : 1, runs = one ? one->shape[1] : line;
  const DType wide = moments.dtype;
  const auto list = [&](const View* v) {
    return v ? n.reshape(n.cast(t.held().read(*v), wide), {numel(v->shape)}) : -1;
  };
  const std::optional<WholeValue> whole = t.held().whole(x, line);
  int value = n.cast(whole ? whole->value : t.held().read(x), wide);
  if (!(groups == 1 && runs == line)) {
    value =
        norm_of_groups(n, n.reshape(value, {x.shape[0], line}), eps, list(weight), list(bias), groups, runs);
  } else if (!centred) {
    value = root_mean_square(n, value, eps, list(weight));
  } else {
    const int scale = weight
                          ? list(weight)
                          : n.numbers(wide, {line}, std::vector<double>(static_cast<std::size_t>(line), 1));
    value = n.node("LayerNormalization", {value, scale, list(bias)}, wide, n.shape(value),
                   {{"axis", std::int64_t{-1}}, {"epsilon", eps}});
  }
  t.held().write_packed(y, n.cast(value, y.dtype));
}

// By the batch's own moments, which a graph finds by its own means.
void batch_norm_entry(double eps, const View& x, const View* weight, const View* bias, const View& moments,
                      const View& y) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const DType wide = moments.dtype;
  const int value = n.cast(t.held().read(x), wide), mean = n.reduce("ReduceMean", value, {0, 2}),
            off = n.binary("Sub", value, mean),
            variance = n.reduce("ReduceMean", n.binary("Mul", off, off), {0, 2});
  const auto list = [&](const View& v) { return n.reshape(n.cast(t.held().read(v), wide), {x.shape[1], 1}); };
  int result = n.binary("Div", off, n.unary("Sqrt", n.by("Add", variance, eps)));
  if (weight) result = n.binary("Mul", result, list(*weight));
  if (bias) result = n.binary("Add", result, list(*bias));
  t.held().write(moments, n.reshape(n.concat({mean, variance}, 0), {2, x.shape[1]}));
  t.held().write(y, n.cast(result, y.dtype));
}

void recurrence_entry(ReduceOp op, const View& x, const View* factor, int dim, bool reverse,
                      const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const int value = n.cast(t.held().read(x), out.dtype);
  if (op == ReduceOp::sum && factor == nullptr) {
    TracedAttributes attributes;
    if (reverse) attributes.push_back({"reverse", std::int64_t{1}});
    t.held().write(out, n.node("CumSum", {value, n.whole({}, {dim})}, out.dtype, n.shape(value), attributes));
    return;
  }
  // Step by step.
  const auto d = static_cast<std::size_t>(dim);
  const Sizes shape = n.shape(value), steps(shape.size(), 1);
  Sizes begin(shape.size(), 0), count = shape;
  count[d] = 1;
  const int by = factor ? t.held().read(*factor) : -1;
  std::vector<int> parts(static_cast<std::size_t>(shape[d]));
  int before = -1;
  for (std::int64_t i = 0; i < shape[d]; ++i) {
    begin[d] = reverse ? shape[d] - 1 - i : i;
    const int now = n.slice(value, begin, count, steps);
    if (before >= 0 && op == ReduceOp::prod)
      before = n.binary("Mul", before, now);
    else if (before >= 0)
      before = n.binary("Add", n.binary("Mul", before, n.slice(by, begin, count, steps)), now);
    else
      before = now;
    parts[static_cast<std::size_t>(begin[d])] = before;
  }
  t.held().write(out, n.concat(parts, d));
}

// Step by step: the position of the last one so far that none exceeds.
void running_extreme_entry(ReduceOp op, const View& x, int dim, const View& index) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const int value = t.held().read(x);
  const auto d = static_cast<std::size_t>(dim);
  const Sizes shape = n.shape(value), steps(shape.size(), 1);
  Sizes begin(shape.size(), 0), count = shape;
  count[d] = 1;
  std::vector<int> places;
  int best = -1;
  for (std::int64_t i = 0; i < shape[d]; ++i) {
    begin[d] = i;
    const int now = n.slice(value, begin, count, steps), here = n.whole({}, {i});
    if (i == 0) {
      best = now;
      places.push_back(n.expand(here, count));
      continue;
    }
    const int wins = n.compare(op == ReduceOp::max ? "GreaterOrEqual" : "LessOrEqual", now, best);
    places.push_back(n.where(wins, here, places.back()));
    best = n.where(wins, now, best);
  }
  t.held().write(index, n.concat(places, d));
}

}  // namespace

void trace_reductions(Backend& table) {
  table.reduce = reduce_entry;
  table.arg_reduce = arg_reduce_entry;
  table.softmax = softmax_entry;
  table.layer_norm = layer_norm_entry;
  table.batch_norm = batch_norm_entry;
  table.recurrence = recurrence_entry;
  table.running_extreme = running_extreme_entry;
}

}  // namespace veldt::onnx
