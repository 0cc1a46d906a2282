// Rows of veldt/ops/create.h. These ops have no inputs that numbers come from, so their cases name the dtype
// in the call; random numbers are checked against Philox, draw by draw.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using Make = std::function<Tensor(DType)>;

// The input, of shape [0], is there for its dtype alone.
OpCase made(std::string label, Make make, Values expected, double magnitude = 0) {
  std::vector<double> sizes(expected.v.size(), magnitude);
  return {std::move(label),
          {{0}},
          [make](In in) { return make(in[0].dtype()); },
          [=](const std::vector<Values>&) {
            return Expected{expected, sizes};
          }};
}

Values constant(const Shape& shape, double value) {
  return build(shape, [value](const Shape&) { return value; });
}

OpRow row_of(const char* name, double ulps, std::vector<OpCase> cases) {
  return {.name = name, .inputs = {{}}, .cases = std::move(cases), .order = 0, .ulps = ulps};
}

OpRow like_row(const char* name, Tensor (*op)(const Tensor&), double value) {
  OpRow row = row_of(name, 0, {});
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3, 4}, Shape{0, 2}})
    row.cases.push_back(
        {str(shape),
         {shape},
         [op](In in) { return op(in[0]); },
         [value](const std::vector<Values>& in) { return Expected{constant(in[0].shape, value)}; }});
  return row;
}

// Draw i of (seed, stream 0), from the published definition of the stream.
std::uint64_t word(std::uint64_t seed, std::uint64_t i) {
  return Philox::block({static_cast<std::uint32_t>(i / 4), 0, 0, 0}, static_cast<std::uint32_t>(seed),
                       static_cast<std::uint32_t>(seed >> 32))[i % 4];
}

// Its upper 24 bits.
double unit(std::uint64_t seed, std::uint64_t i) { return static_cast<double>(word(seed, i) >> 8) * 0x1p-24; }

// 53 bits of draws i and i + 1.
double unit_of_two(std::uint64_t seed, std::uint64_t i) {
  return (static_cast<double>(word(seed, i) >> 5) * 0x1p26 + static_cast<double>(word(seed, i + 1) >> 6)) *
         0x1p-53;
}

OpRow rand_row() {
  OpRow row = row_of("rand", 2, {});
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{2, 3, 5}, Shape{0}, Shape{50, 401}}) {
    const auto position = [shape](const Shape& at) {
      return static_cast<std::uint64_t>(position_of(shape, at));
    };
    const auto drawn = [shape](DType as, double low, double high) {
      Rng rng(99);
      rng.seek(3);
      return rand(shape, rng, low, high, as);
    };
    row.cases.push_back(made(
        str(shape, " of 24 bits"),
        [=](DType t) { return t != DType::f64 ? drawn(t, -2, 3) : to(drawn(DType::f32, 0, 1), t) * 5 - 2; },
        build(shape, [&](const Shape& at) { return -2 + 5 * unit(99, position(at) + 3); }), 5));
    row.cases.push_back(made(
        str(shape, " of 53 bits"), [=](DType t) { return to(drawn(DType::f64, -2, 3), t); },
        build(shape, [&](const Shape& at) { return -2 + 5 * unit_of_two(99, 2 * position(at) + 3); }), 5));
  }
  return row;
}

OpRow randn_row() {
  OpRow row = row_of("randn", 2, {});
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{2, 3, 5}, Shape{0}, Shape{50, 401}}) {
    const Values expected = build(shape, [&](const Shape& at) {
      const auto i = 2 * static_cast<std::uint64_t>(position_of(shape, at)) + 1;
      return 1 +
             0.5 * std::sqrt(-2 * std::log(1 - unit(5, i))) * std::cos(2 * std::numbers::pi * unit(5, i + 1));
    });
    row.cases.push_back(made(
        str(shape),
        [shape](DType dtype) {
          Rng rng(5);
          rng.seek(1);
          return randn(shape, rng, 1, 0.5, dtype);
        },
        expected, 4));
  }
  return row;
}

std::vector<OpRow> choice_rows() {
  OpRow ints = row_of("randint", 0, {}), orders = row_of("randperm", 0, {}),
        coins = row_of("bernoulli", 0, {}), classes = row_of("multinomial", 0, {});
  ints.result = orders.result = classes.result = DType::i64;
  for (std::int64_t n : {1, 7, 3000}) {
    ints.cases.push_back(made(
        str(n),
        [n](DType) {
          Rng rng(4);
          return randint({n}, rng, -5, 12);
        },
        build({n}, [](const Shape& at) {
          return static_cast<double>(word(4, static_cast<std::uint64_t>(at[0])) * 17 >> 32) - 5;
        })));
    // By the upper two bits of a draw each into four parts, which are shuffled; few numbers are one part.
    const auto count = static_cast<std::uint64_t>(n);
    std::vector<double> order;
    for (std::uint64_t part = 0; part < (n < 1024 ? 1 : 4); ++part) {
      const std::size_t begin = order.size();
      for (std::uint64_t i = 0; i < count; ++i)
        if (n < 1024 || word(6, i) >> 30 == part) order.push_back(static_cast<double>(i));
      for (std::size_t k = begin; k < order.size(); ++k)
        std::swap(order[k], order[begin + (word(6, count + k) * (k - begin + 1) >> 32)]);
    }
    orders.cases.push_back(made(
        str(n),
        [n](DType) {
          Rng rng(6);
          return randperm(n, rng);
        },
        build({n}, [&](const Shape& at) { return order[static_cast<std::size_t>(at[0])]; })));
  }
  for (OpRow* row : {&coins, &classes}) row->inputs = {{.low = 0, .high = 1}};
  for (const Shape& shape : {Shape{}, Shape{9}, Shape{3, 50}})
    coins.cases.push_back({str(shape),
                           {shape},
                           [](In in) {
                             Rng rng(8);
                             return bernoulli(in[0], rng);
                           },
                           [](const std::vector<Values>& in) {
                             return Expected{build(in[0].shape, [&](const Shape& at) {
                               const auto i = static_cast<std::uint64_t>(position_of(in[0].shape, at));
                               return unit_of_two(8, 2 * i) < in[0].at(at) ? 1.0 : 0.0;
                             })};
                           }});
  for (const Shape& shape : {Shape{5}, Shape{3, 4}})
    classes.cases.push_back({str(shape),
                             {shape},
                             [](In in) {
                               Rng rng(9);
                               return multinomial(in[0], 20, rng);
                             },
                             [](const std::vector<Values>& in) {
                               Shape to = in[0].shape;
                               const int last = to.rank() - 1;
                               const std::int64_t n = to[last];
                               to[last] = 20;
                               return Expected{build(to, [&](Shape at) {
                                 double u = unit_of_two(9,
                                                        2 * static_cast<std::uint64_t>(position_of(to, at))),
                                        total = 0, reached = 0;
                                 for (at[last] = 0; at[last] < n; ++at[last]) total += in[0].at(at);
                                 u *= total;
                                 for (at[last] = 0; at[last] < n; ++at[last])
                                   if (u < (reached += in[0].at(at))) break;
                                 return static_cast<double>(at[last]);
                               })};
                             }});
  return {ints, orders, coins, classes};
}

}  // namespace

std::vector<OpRow> create_rows() {
  std::vector<OpRow> rows;
  std::vector<OpCase> zero, one, seven;
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3, 4}, Shape{0, 2}, Shape{130, 131}}) {
    zero.push_back(made(
        str(shape), [=](DType t) { return zeros(shape, t); }, constant(shape, 0)));
    one.push_back(made(
        str(shape), [=](DType t) { return ones(shape, t); }, constant(shape, 1)));
    seven.push_back(made(
        str(shape), [=](DType t) { return full(shape, 7.25, t); }, constant(shape, 7.25)));
  }
  rows.push_back(row_of("zeros", 0, zero));
  rows.push_back(row_of("ones", 0, one));
  rows.push_back(row_of("full", 0, seven));
  rows.push_back(like_row(
      "full_like", [](const Tensor& x) { return full_like(x, 2.5); }, 2.5));
  rows.push_back(like_row("zeros_like", zeros_like, 0));
  rows.push_back(like_row("ones_like", ones_like, 1));

  std::vector<OpCase> ramps, lines;
  for (std::int64_t n : {0, 1, 2, 67, 20000}) {
    ramps.push_back(made(
        str(n), [n](DType t) { return arange(n, t); },
        build({n}, [](const Shape& at) { return static_cast<double>(at[0]); })));
    lines.push_back(made(
        str(n), [n](DType t) { return linspace(-1, 2, n, t); },
        build({n},
              [n](const Shape& at) {
                return n == 1 ? -1 : -1 + 3 * static_cast<double>(at[0]) / static_cast<double>(n - 1);
              }),
        3));
  }
  ramps.push_back(made("by steps", [](DType t) { return arange(2, 9, 3, t); }, {{3}, {2, 5, 8}}));
  ramps.push_back(
      made("downwards", [](DType t) { return arange(1.0, -0.6, -0.5, t); }, {{4}, {1, 0.5, 0, -0.5}}));
  ramps.push_back(made("nothing", [](DType t) { return arange(3, 3, 1, t); }, {{0}, {}}));
  rows.push_back(row_of("arange", 0, ramps));
  rows.push_back(row_of("eye", 0,
                        {made(
                             "square", [](DType t) { return eye(3, -1, t); },
                             build({3, 3}, [](const Shape& at) { return at[0] == at[1] ? 1.0 : 0.0; })),
                         made(
                             "wide", [](DType t) { return eye(2, 4, t); },
                             build({2, 4}, [](const Shape& at) { return at[0] == at[1] ? 1.0 : 0.0; }))}));
  for (OpRow& row : choice_rows()) rows.push_back(std::move(row));
  rows.push_back(row_of("linspace", 1, lines));
  rows.push_back(rand_row());
  rows.push_back(randn_row());
  return rows;
}

}  // namespace veldt::test
