// Rows of veldt/ops/pooling.h. The oracle goes through each window, padding and all, in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/pooling.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using Numbers = std::vector<std::int64_t>;

enum class Kind { max, mean, mean_of_what_is_there };

// One dimension; kernel 0: adaptive, `out` then says the size.
struct Line {
  std::int64_t kernel = 1, stride = 1, padding = 0, dilation = 1, out = 0;
  bool ceil_mode = false;
};

std::int64_t outputs(const Line& l, std::int64_t in) {
  if (l.kernel == 0) return l.out;
  std::int64_t count = 0;
  // A window counts while it ends within the padded input; with ceil_mode while it begins before the padding
  // at the end.
  for (std::int64_t begin = -l.padding;; begin += l.stride, ++count) {
    const std::int64_t last = begin + (l.kernel - 1) * l.dilation;
    if (last >= in + l.padding && (!l.ceil_mode || begin >= in || last - l.stride >= in + l.padding - 1))
      break;
  }
  return count;
}

// The positions of window o, those in the padding too.
Numbers window(const Line& l, std::int64_t in, std::int64_t o) {
  Numbers all;
  if (l.kernel == 0)
    for (std::int64_t i = o * in / l.out; i * l.out < (o + 1) * in; ++i) all.push_back(i);
  else
    for (std::int64_t k = 0; k < l.kernel; ++k)
      if (const std::int64_t at = o * l.stride - l.padding + k * l.dilation; at < in + l.padding)
        all.push_back(at);
  return all;
}

Values pooled(const Values& x, const std::vector<Line>& lines, Kind kind) {
  const int dims = static_cast<int>(lines.size()), lead = x.shape.rank() - dims;
  Shape shape = x.shape;
  for (int d = 0; d < dims; ++d)
    shape[lead + d] = outputs(lines[static_cast<std::size_t>(d)], x.shape[lead + d]);
  return build(shape, [&](const Shape& index) {
    double sum = 0, most = -std::numeric_limits<double>::infinity(), count = 0, there = 0;
    Shape at = index;
    const std::function<void(int)> walk = [&](int d) {
      if (d < dims) {
        const std::int64_t in = x.shape[lead + d];
        for (const std::int64_t i : window(lines[static_cast<std::size_t>(d)], in, index[lead + d])) {
          at[lead + d] = i;
          walk(d + 1);
        }
        return;
      }
      ++count;
      for (int k = 0; k < dims; ++k)
        if (at[lead + k] < 0 || at[lead + k] >= x.shape[lead + k]) return;
      const double v = x.v[static_cast<std::size_t>(position_of(x.shape, at))];
      sum += v, most = std::max(most, v), ++there;
    };
    walk(0);
    return kind == Kind::max ? most : sum / (kind == Kind::mean ? count : there);
  });
}

PerDim per_dim(const std::vector<Line>& lines, std::int64_t Line::*member) {
  Shape s;
  for (const Line& l : lines) s.push_back(l.*member);
  return PerDim(s);
}

OpRow row_of(const char* name, bool max) {
  return {.name = name,
          .inputs = {{.low = -2, .high = 2, .distinct = max}},
          .cases = {},
          .order = 2,
          .ulps = max ? 0.0 : 16.0};
}

void add(OpRow& row, const char* label, const Shape& shape, const std::vector<Line>& lines, Kind kind,
         std::function<Tensor(const Tensor&)> op) {
  row.cases.push_back({label,
                       {shape},
                       [op = std::move(op)](In in) { return op(in[0]); },
                       [=](const std::vector<Values>& in) {
                         Expected out{pooled(in[0], lines, kind)};
                         if (kind != Kind::max) {  // of the terms of a mean
                           Values sizes = in[0];
                           for (double& v : sizes.v) v = std::abs(v);
                           out.magnitude = pooled(sizes, lines, kind).v;
                         }
                         return out;
                       }});
}

using MaxPool = Tensor (*)(const Tensor&, const PerDim&, const MaxPoolOptions&);
using AvgPool = Tensor (*)(const Tensor&, const PerDim&, const AvgPoolOptions&);
using Adaptive = Tensor (*)(const Tensor&, const PerDim&);

OpRow max_row(const char* name, int dims, MaxPool op) {
  OpRow row = row_of(name, true);
  const auto with = [&](const char* label, Shape lead, const Line& line, std::vector<std::int64_t> sizes) {
    for (int d = 0; d < dims; ++d) lead.push_back(sizes[static_cast<std::size_t>(d)]);
    const std::vector<Line> lines(static_cast<std::size_t>(dims), line);
    add(row, label, lead, lines, Kind::max, [=](const Tensor& x) {
      return op(x, per_dim(lines, &Line::kernel),
                {.stride = per_dim(lines, &Line::stride),
                 .padding = per_dim(lines, &Line::padding),
                 .dilation = per_dim(lines, &Line::dilation),
                 .ceil_mode = line.ceil_mode});
    });
  };
  with("halves", {2, 1}, {.kernel = 2, .stride = 2}, {4, 2, 2});
  with("no batch", {2}, {.kernel = 2, .stride = 1}, {3, 2, 2});
  with("padded", {1, 1}, {.kernel = 3, .stride = 2, .padding = 1}, {4, 3, 2});
  with("dilated", {1, 1}, {.kernel = 2, .stride = 1, .padding = 1, .dilation = 2}, {4, 3, 3});
  with("rounded up", {1, 1}, {.kernel = 2, .stride = 2, .ceil_mode = true}, {5, 3, 2});
  with("rounded up, padded", {1, 1}, {.kernel = 2, .stride = 3, .padding = 1, .ceil_mode = true}, {4, 2, 2});
  with("no examples", {0, 2}, {.kernel = 2, .stride = 2}, {4, 4, 4});
  with("many", {3, 5}, {.kernel = 3, .stride = 2, .padding = 1}, {33, 15, 7});
  return row;
}

OpRow avg_row(const char* name, int dims, AvgPool op) {
  OpRow row = row_of(name, false);
  const auto with = [&](const char* label, Shape lead, const Line& line, std::vector<std::int64_t> sizes,
                        bool count_padding = true) {
    for (int d = 0; d < dims; ++d) lead.push_back(sizes[static_cast<std::size_t>(d)]);
    const std::vector<Line> lines(static_cast<std::size_t>(dims), line);
    add(row, label, lead, lines, count_padding ? Kind::mean : Kind::mean_of_what_is_there,
        [=](const Tensor& x) {
          return op(x, per_dim(lines, &Line::kernel),
                    {.stride = per_dim(lines, &Line::stride),
                     .padding = per_dim(lines, &Line::padding),
                     .ceil_mode = line.ceil_mode,
                     .count_include_pad = count_padding});
        });
  };
  with("halves", {2, 1}, {.kernel = 2, .stride = 2}, {4, 2, 2});
  with("no batch", {2}, {.kernel = 2, .stride = 1}, {3, 2, 2});
  with("padded", {1, 1}, {.kernel = 3, .stride = 2, .padding = 1}, {4, 3, 2});
  with("padding left out", {1, 1}, {.kernel = 3, .stride = 2, .padding = 1}, {4, 3, 2}, false);
  with("rounded up", {1, 1}, {.kernel = 2, .stride = 2, .ceil_mode = true}, {5, 3, 2});
  with("rounded up, padded", {1, 1}, {.kernel = 2, .stride = 3, .padding = 1, .ceil_mode = true}, {4, 2, 2});
  with("no examples", {0, 2}, {.kernel = 2, .stride = 2}, {4, 4, 4});
  with("many", {3, 5}, {.kernel = 3, .stride = 2, .padding = 1}, {33, 15, 7});
  return row;
}

OpRow adaptive_row(const char* name, int dims, bool max, Adaptive op) {
  OpRow row = row_of(name, max);
  const auto with = [&](const char* label, Shape lead, std::vector<std::int64_t> sizes, std::int64_t out) {
    for (int d = 0; d < dims; ++d) lead.push_back(sizes[static_cast<std::size_t>(d)]);
    const std::vector<Line> lines(static_cast<std::size_t>(dims), {.kernel = 0, .out = out});
    add(row, label, lead, lines, max ? Kind::max : Kind::mean, [=](const Tensor& x) { return op(x, out); });
  };
  with("one", {2, 1}, {4, 2, 2}, 1);
  with("windows that overlap", {1, 1}, {5, 4, 2}, 3);
  with("as large", {2}, {3, 3, 2}, 2);
  with("larger", {1, 1}, {2, 2, 1}, 3);
  with("many", {3, 5}, {33, 15, 7}, 6);
  return row;
}

}  // namespace

std::vector<OpRow> pooling_rows() {
  return {max_row("max_pool1d", 1, max_pool1d),
          max_row("max_pool2d", 2, max_pool2d),
          max_row("max_pool3d", 3, max_pool3d),
          avg_row("avg_pool1d", 1, avg_pool1d),
          avg_row("avg_pool2d", 2, avg_pool2d),
          avg_row("avg_pool3d", 3, avg_pool3d),
          adaptive_row("adaptive_max_pool1d", 1, true, adaptive_max_pool1d),
          adaptive_row("adaptive_max_pool2d", 2, true, adaptive_max_pool2d),
          adaptive_row("adaptive_max_pool3d", 3, true, adaptive_max_pool3d),
          adaptive_row("adaptive_avg_pool1d", 1, false, adaptive_avg_pool1d),
          adaptive_row("adaptive_avg_pool2d", 2, false, adaptive_avg_pool2d),
          adaptive_row("adaptive_avg_pool3d", 3, false, adaptive_avg_pool3d)};
}

}  // namespace veldt::test
