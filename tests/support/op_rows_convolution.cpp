// Rows of veldt/ops/convolution.h. The oracle is the sum over the kernel, in double; of a transpose, each
// input spread over the outputs that it reaches.
#include <algorithm>
#include <cmath>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/convolution.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using Numbers = std::vector<std::int64_t>;

// What a case is made of, a number for each spatial dimension; absent ones are 1, those of padding 0.
struct Case {
  std::int64_t n = 1, c_in = 1, c_out = 1;
  Numbers size, kernel;
  Numbers stride = {}, before = {}, after = {}, dilation = {}, output_padding = {};
  std::int64_t groups = 1;
  PadMode mode = PadMode::zeros;
  bool same = false;  // `before` and `after` are what this comes to
};

std::int64_t number(const Numbers& of, std::size_t d, std::int64_t absent) {
  return of.empty() ? absent : of[d];
}

PerDim per_dim(const Numbers& of, std::int64_t absent) {
  Shape s;
  for (const std::int64_t n : of) s.push_back(n);
  return of.empty() ? PerDim(absent) : PerDim(s);
}

// Where position p beyond 0 .. size - 1 takes its element from; -1: it is 0.
std::int64_t source(std::int64_t p, std::int64_t size, PadMode mode) {
  if (p >= 0 && p < size) return p;
  switch (mode) {
    case PadMode::zeros: return -1;
    case PadMode::reflect: return p < 0 ? -p : 2 * (size - 1) - p;
    case PadMode::replicate: return p < 0 ? 0 : size - 1;
    case PadMode::circular: return (p + size) % size;
  }
  return -1;
}

// All positions of these sizes.
std::vector<Numbers> positions(const Numbers& sizes) {
  std::vector<Numbers> all = {{}};
  for (const std::int64_t size : sizes) {
    std::vector<Numbers> longer;
    for (const Numbers& head : all)
      for (std::int64_t i = 0; i < size; ++i) {
        longer.push_back(head);
        longer.back().push_back(i);
      }
    all = longer;
  }
  return all;
}

Shape joined(std::int64_t a, std::int64_t b, const Numbers& rest) {
  Shape s = {a, b};
  for (const std::int64_t n : rest) s.push_back(n);
  return s;
}

Numbers output_sizes(const Case& c, bool transposed) {
  Numbers out;
  for (std::size_t d = 0; d < c.size.size(); ++d) {
    const std::int64_t reach = number(c.dilation, d, 1) * (c.kernel[d] - 1) + 1,
                       stride = number(c.stride, d, 1);
    const std::int64_t before = number(c.before, d, 0), after = number(c.after, d, before);
    out.push_back(transposed ? (c.size[d] - 1) * stride - 2 * before + reach + number(c.output_padding, d, 0)
                             : (c.size[d] + before + after - reach) / stride + 1);
  }
  return out;
}

// Sums pairs of an element of x and one of w into y: y's position is where a tap of the kernel at y's (or,
// for a transpose, x's) position lands.
Expected oracle(const Case& c, bool transposed, const std::vector<Values>& in) {
  const Numbers sizes = output_sizes(c, transposed);
  Expected out{Values{joined(c.n, c.c_out, sizes), {}}};
  const auto count = static_cast<std::size_t>(numel(out.values.shape));
  out.values.v.assign(count, 0);
  out.magnitude.assign(count, 0);
  const auto add = [&](const Shape& at, double term) {
    const auto i = static_cast<std::size_t>(position_of(out.values.shape, at));
    out.values.v[i] += term;
    out.magnitude[i] += std::fabs(term);
  };
  const std::vector<Numbers> taps = positions(c.kernel), places = positions(transposed ? c.size : sizes);
  const std::int64_t in_group = c.c_in / c.groups, out_group = c.c_out / c.groups;
  // From one channel of the input to the next.
  const std::int64_t x_channel = in[0].size() / std::max<std::int64_t>(1, c.n * c.c_in);
  const std::int64_t w_channel = static_cast<std::int64_t>(taps.size()) * (transposed ? out_group : 1);
  for (std::int64_t n = 0; n < c.n; ++n)
    for (std::int64_t o = 0; o < c.c_out; ++o) {
      for (const Numbers& p : places)
        for (const Numbers& k : taps) {
          Numbers there;  // in y for a transpose, else in x
          bool within = true;
          for (std::size_t d = 0; d < p.size(); ++d) {
            const std::int64_t at =
                p[d] * number(c.stride, d, 1) - number(c.before, d, 0) + k[d] * number(c.dilation, d, 1);
            there.push_back(transposed ? at : source(at, c.size[d], c.mode));
            within = within && there[d] >= 0 && there[d] < (transposed ? sizes[d] : c.size[d]);
          }
          if (!within) continue;
          const std::int64_t first = o / out_group * in_group;  // channel of the group
          const Shape to = joined(n, o, transposed ? there : p);
          std::int64_t from = position_of(in[0].shape, joined(n, first, transposed ? p : there));
          std::int64_t by =
              position_of(in[1].shape, transposed ? joined(first, o % out_group, k) : joined(o, 0, k));
          for (std::int64_t i = 0; i < in_group; ++i, from += x_channel, by += w_channel)
            add(to, in[0].v[static_cast<std::size_t>(from)] * in[1].v[static_cast<std::size_t>(by)]);
        }
      if (in.size() > 2)
        for (const Numbers& p : positions(sizes)) add(joined(n, o, p), in[2].at({o}));
    }
  return out;
}

template <class Options> using Op = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Options&);

void add(OpRow& row, Op<ConvOptions> op, const char* label, const Case& c) {
  std::vector<Shape> shapes = {joined(c.n, c.c_in, c.size), joined(c.c_out, c.c_in / c.groups, c.kernel)};
  if (row.inputs.size() > 2) shapes.push_back({c.c_out});
  ConvOptions options{.stride = per_dim(c.stride, 1),
                      .padding = 0,
                      .dilation = per_dim(c.dilation, 1),
                      .groups = c.groups,
                      .padding_mode = c.mode};
  if (c.same)
    options.padding = "same";
  else if (!c.before.empty())
    options.padding = ConvPadding(per_dim(c.before, 0));
  row.cases.push_back({label, shapes,
                       [=](In in) { return op(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options); },
                       [=](const std::vector<Values>& in) { return oracle(c, false, in); }});
}

void add(OpRow& row, Op<ConvTransposeOptions> op, const char* label, const Case& c) {
  std::vector<Shape> shapes = {joined(c.n, c.c_in, c.size), joined(c.c_in, c.c_out / c.groups, c.kernel)};
  if (row.inputs.size() > 2) shapes.push_back({c.c_out});
  const ConvTransposeOptions options{.stride = per_dim(c.stride, 1),
                                     .padding = per_dim(c.before, 0),
                                     .output_padding = per_dim(c.output_padding, 0),
                                     .dilation = per_dim(c.dilation, 1),
                                     .groups = c.groups};
  row.cases.push_back({label, shapes,
                       [=](In in) { return op(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options); },
                       [=](const std::vector<Values>& in) { return oracle(c, true, in); }});
}

OpRow row_of(const char* name, bool biased = true) {
  OpRow row{.name = name, .inputs = {{}, {}}, .cases = {}, .order = 3, .ulps = 128};
  if (biased) row.inputs.push_back({});
  return row;
}

OpRow conv1d_row() {
  OpRow row = row_of("conv1d");
  const auto with = [&](const char* label, const Case& c) { add(row, conv1d, label, c); };
  with("one number", {.size = {1}, .kernel = {1}});
  with("small", {.size = {4}, .kernel = {2}});
  with("small, padded", {.size = {2}, .kernel = {2}, .before = {1}});
  with("stride 2", {.c_in = 2, .c_out = 2, .size = {6}, .kernel = {2}, .stride = {2}});
  with("stride 3 leaves a rest", {.c_out = 2, .size = {9}, .kernel = {2}, .stride = {3}, .before = {1}});
  with("dilation 2", {.size = {7}, .kernel = {3}, .before = {2}, .dilation = {2}});
  with("stride beyond the kernel", {.size = {8}, .kernel = {1}, .stride = {3}});
  with("padding beyond the kernel", {.size = {2}, .kernel = {2}, .before = {4}});
  with("same", {.size = {5}, .kernel = {4}, .before = {1}, .after = {2}, .same = true});
  with("same, dilated",
       {.size = {5}, .kernel = {2}, .before = {1}, .after = {2}, .dilation = {3}, .same = true});
  with("reflect", {.size = {4}, .kernel = {3}, .before = {2}, .mode = PadMode::reflect});
  with("replicate", {.size = {2}, .kernel = {3}, .before = {3}, .mode = PadMode::replicate});
  with("circular", {.size = {3}, .kernel = {2}, .before = {2}, .mode = PadMode::circular});
  with("no examples", {.n = 0, .c_in = 2, .c_out = 3, .size = {5}, .kernel = {3}});
  with("a long kernel", {.c_in = 2, .c_out = 3, .size = {600}, .kernel = {513}, .before = {26}});
  with("long", {.c_in = 3, .c_out = 5, .size = {4000}, .kernel = {3}, .before = {1}});
  with("many channels", {.c_in = 40, .c_out = 30, .size = {17}, .kernel = {5}, .before = {2}});
  return row;
}

OpRow conv2d_row(bool biased) {
  OpRow row = row_of(biased ? "conv2d" : "conv2d_without_bias", biased);
  const auto with = [&](const char* label, const Case& c) { add(row, conv2d, label, c); };
  with("one number", {.size = {1, 1}, .kernel = {1, 1}});
  with("small", {.size = {2, 3}, .kernel = {1, 2}});
  with("two channels", {.c_in = 2, .c_out = 2, .size = {2, 2}, .kernel = {1, 1}});
  with("small, padded", {.size = {2, 2}, .kernel = {2, 2}, .before = {1, 0}});
  with("strides", {.c_out = 2, .size = {4, 5}, .kernel = {2, 1}, .stride = {2, 3}, .before = {1, 1}});
  with("dilations", {.size = {4, 5}, .kernel = {2, 2}, .dilation = {2, 3}});
  with("depthwise", {.c_in = 3, .c_out = 3, .size = {2, 3}, .kernel = {2, 1}, .groups = 3});
  with("no examples", {.n = 0, .c_in = 2, .c_out = 2, .size = {3, 3}, .kernel = {2, 2}});
  with("no channels", {.c_in = 0, .c_out = 2, .size = {3, 3}, .kernel = {2, 2}});
  with("no outputs", {.c_in = 2, .c_out = 0, .size = {3, 3}, .kernel = {2, 2}});
  with("3x3", {.c_in = 16, .c_out = 24, .size = {9, 10}, .kernel = {3, 3}, .before = {1, 1}});
  if (!biased) return row;
  with("groups",
       {.n = 2, .c_in = 4, .c_out = 6, .size = {5, 4}, .kernel = {3, 2}, .before = {1, 1}, .groups = 2});
  with("depthwise of two", {.c_in = 5,
                            .c_out = 10,
                            .size = {7, 6},
                            .kernel = {3, 3},
                            .stride = {2, 1},
                            .before = {1, 1},
                            .groups = 5});
  with("many depthwise",
       {.n = 2, .c_in = 40, .c_out = 40, .size = {9, 9}, .kernel = {3, 3}, .before = {1, 1}, .groups = 40});
  with("same",
       {.c_in = 2, .size = {4, 3}, .kernel = {2, 3}, .before = {0, 1}, .after = {1, 1}, .same = true});
  with("reflect",
       {.c_in = 2, .c_out = 2, .size = {4, 3}, .kernel = {3, 3}, .before = {3, 2}, .mode = PadMode::reflect});
  with("replicate", {.size = {1, 3}, .kernel = {3, 2}, .before = {2, 1}, .mode = PadMode::replicate});
  with("circular", {.size = {3, 2}, .kernel = {2, 3}, .before = {1, 2}, .mode = PadMode::circular});
  with("all of it", {.n = 3,
                     .c_in = 6,
                     .c_out = 4,
                     .size = {11, 9},
                     .kernel = {3, 2},
                     .stride = {2, 3},
                     .before = {2, 1},
                     .dilation = {2, 4},
                     .groups = 2});
  with("1x1", {.n = 3, .c_in = 17, .c_out = 19, .size = {5, 7}, .kernel = {1, 1}});
  with("1x1 of stride 2",
       {.n = 2, .c_in = 17, .c_out = 5, .size = {5, 7}, .kernel = {1, 1}, .stride = {2, 2}});
  with("LeNet's first",
       {.n = 2, .c_in = 1, .c_out = 6, .size = {28, 28}, .kernel = {5, 5}, .before = {2, 2}});
  with("LeNet's second", {.n = 2, .c_in = 6, .c_out = 16, .size = {14, 14}, .kernel = {5, 5}});
  with("stride 2 of 16",
       {.c_in = 16, .c_out = 32, .size = {9, 10}, .kernel = {3, 3}, .stride = {2, 2}, .before = {1, 1}});
  with("a large kernel", {.c_in = 4, .c_out = 2, .size = {20, 21}, .kernel = {17, 19}, .before = {3, 2}});
  return row;
}

OpRow conv3d_row() {
  OpRow row = row_of("conv3d");
  const auto with = [&](const char* label, const Case& c) { add(row, conv3d, label, c); };
  with("one number", {.size = {1, 1, 1}, .kernel = {1, 1, 1}});
  with("small", {.size = {2, 1, 2}, .kernel = {2, 1, 1}});
  with("small, padded", {.size = {2, 2, 2}, .kernel = {1, 2, 2}, .before = {0, 1, 0}});
  with("strides", {.size = {3, 2, 4}, .kernel = {1, 2, 2}, .stride = {2, 1, 2}, .before = {1, 0, 1}});
  with("circular", {.size = {2, 2, 3}, .kernel = {2, 2, 2}, .before = {1, 0, 2}, .mode = PadMode::circular});
  with("all of it", {.n = 2,
                     .c_in = 4,
                     .c_out = 6,
                     .size = {5, 6, 7},
                     .kernel = {2, 3, 2},
                     .stride = {1, 2, 3},
                     .before = {1, 2, 0},
                     .dilation = {2, 1, 3},
                     .groups = 2});
  with("3x3x3", {.c_in = 16, .c_out = 8, .size = {3, 4, 5}, .kernel = {3, 3, 3}, .before = {1, 1, 1}});
  return row;
}

OpRow conv_transpose1d_row() {
  OpRow row = row_of("conv_transpose1d");
  const auto with = [&](const char* label, const Case& c) { add(row, conv_transpose1d, label, c); };
  with("one number", {.size = {1}, .kernel = {1}});
  with("small", {.size = {3}, .kernel = {2}});
  with("stride 2", {.c_in = 2, .c_out = 2, .size = {3}, .kernel = {2}, .stride = {2}});
  with("output padding", {.size = {3}, .kernel = {2}, .stride = {3}, .before = {1}, .output_padding = {2}});
  with("output padding beyond the stride",
       {.size = {4}, .kernel = {3}, .stride = {2}, .before = {1}, .dilation = {5}, .output_padding = {4}});
  with("no examples", {.n = 0, .c_in = 2, .c_out = 3, .size = {5}, .kernel = {3}});
  with(
      "groups",
      {.n = 2, .c_in = 4, .c_out = 6, .size = {7}, .kernel = {4}, .stride = {2}, .before = {1}, .groups = 2});
  with("many channels", {.c_in = 20, .c_out = 15, .size = {65}, .kernel = {5}, .stride = {2}, .before = {2}});
  return row;
}

OpRow conv_transpose2d_row() {
  OpRow row = row_of("conv_transpose2d");
  const auto with = [&](const char* label, const Case& c) { add(row, conv_transpose2d, label, c); };
  with("one number", {.size = {1, 1}, .kernel = {1, 1}});
  with("small", {.size = {2, 1}, .kernel = {1, 2}});
  with("strides", {.c_in = 2, .size = {2, 3}, .kernel = {2, 1}, .stride = {1, 2}, .output_padding = {0, 1}});
  with("all of it", {.n = 2,
                     .c_in = 4,
                     .c_out = 6,
                     .size = {5, 4},
                     .kernel = {3, 2},
                     .stride = {2, 3},
                     .before = {1, 2},
                     .dilation = {2, 4},
                     .output_padding = {1, 3},
                     .groups = 2});
  with(
      "upsampling",
      {.n = 2, .c_in = 16, .c_out = 8, .size = {7, 7}, .kernel = {4, 4}, .stride = {2, 2}, .before = {1, 1}});
  return row;
}

OpRow conv_transpose3d_row() {
  OpRow row = row_of("conv_transpose3d");
  const auto with = [&](const char* label, const Case& c) { add(row, conv_transpose3d, label, c); };
  with("one number", {.size = {1, 1, 1}, .kernel = {1, 1, 1}});
  with("small", {.size = {1, 2, 1}, .kernel = {2, 1, 1}});
  with("strides", {.n = 2,
                   .c_in = 3,
                   .c_out = 2,
                   .size = {2, 3, 2},
                   .kernel = {2, 3, 2},
                   .stride = {2, 1, 3},
                   .before = {1, 1, 0},
                   .output_padding = {1, 0, 2}});
  return row;
}

}  // namespace

std::vector<OpRow> convolution_rows() {
  return {conv1d_row(),           conv2d_row(true),       conv2d_row(false),     conv3d_row(),
          conv_transpose1d_row(), conv_transpose2d_row(), conv_transpose3d_row()};
}

}  // namespace veldt::test
