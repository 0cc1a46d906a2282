// Ops along lines: reductions, running sums, softmax, order, reading and writing by index, random draws.
#include "rows.h"

namespace veldt::bench {

namespace {

const std::vector<DType> kF32 = {DType::f32};

template <class Fn>
Row one(const char* name, const std::vector<DType>& dtypes, Fn fn, bool gradient = false, double low = -2) {
  return {name, dtypes, {{square, low, 2}}, calls([fn](const Tensors& x) { return fn(x[0]); }), gradient};
}

Shape block(std::int64_t n) { return {side(n) / 16, 16, side(n)}; }

void add_reductions(std::vector<Row>& rows) {
  using T = const Tensor&;
  for (const Row& row : {one(
                             "sum", kNumbers, [](T x) { return sum(x); }, true),
                         one(
                             "sum d0", kNumbers, [](T x) { return sum(x, {0}); }, true),
                         one(
                             "sum d1", kNumbers, [](T x) { return sum(x, {1}); }, true),
                         one(
                             "mean", kFloats, [](T x) { return mean(x); }, true),
                         one(
                             "mean d1", kFloats, [](T x) { return mean(x, {1}); }, true),
                         one(
                             "max", kNumbers, [](T x) { return max(x); }, true),
                         one(
                             "max d0", kNumbers, [](T x) { return max(x, {0}); }, true),
                         one(
                             "max d1", kNumbers, [](T x) { return max(x, {1}); }, true),
                         one(
                             "min", kNumbers, [](T x) { return min(x); }, true),
                         one(
                             "variance", kFloats, [](T x) { return variance(x); }, true),
                         one(
                             "variance d0", kFloats, [](T x) { return variance(x, {0}); }, true),
                         one(
                             "variance d1", kFloats, [](T x) { return variance(x, {1}); }, true),
                         one(
                             "stddev", kFloats, [](T x) { return stddev(x); }, true),
                         one(
                             "prod d1", kNumbers, [](T x) { return prod(x, {1}); }, true),
                         one(
                             "norm", kFloats, [](T x) { return norm(x); }, true),
                         one(
                             "norm d0", kFloats, [](T x) { return norm(x, 2, {0}); }, true),
                         one(
                             "norm d1", kFloats, [](T x) { return norm(x, 2, {1}); }, true),
                         one(
                             "norm 1", kFloats, [](T x) { return norm(x, 1); }, true),
                         one(
                             "norm 3", kFloats, [](T x) { return norm(x, 3); }, true),
                         one(
                             "norm inf", kFloats, [](T x) { return norm(x, INFINITY); }, true),
                         one("argmax d0", kNumbers, [](T x) { return argmax(x, 0); }),
                         one("argmax d1", kNumbers, [](T x) { return argmax(x, 1); }),
                         one("argmin d1", kNumbers, [](T x) { return argmin(x, 1); }),
                         one("any", kNumbers, [](T x) { return any(x); }),
                         one("all", kNumbers, [](T x) { return all(x); }),
                         one("any d1", kNumbers, [](T x) { return any(x, {1}); }),
                         one(
                             "sum_to row", kFloats, [](T x) { return sum_to(x, {x.size(1)}); }, true),
                         one(
                             "cumsum d0", kNumbers, [](T x) { return cumsum(x, 0); }, true),
                         one(
                             "cummax d0", kNumbers, [](T x) { return cummax(x, 0).values; }, true),
                         one(
                             "cummax d1", kNumbers, [](T x) { return cummax(x, 1).values; }, true),
                         one(
                             "cummin d1", kNumbers, [](T x) { return cummin(x, 1).values; }, true),
                         one(
                             "cumsum d1", kNumbers, [](T x) { return cumsum(x, 1); }, true),
                         one(
                             "cumprod d0", kFloats, [](T x) { return cumprod(x, 0); }, true),
                         one(
                             "cumprod d1", kFloats, [](T x) { return cumprod(x, 1); }, true),
                         one(
                             "softmax d0", kFloats, [](T x) { return softmax(x, 0); }, true),
                         one(
                             "softmax d1", kFloats, [](T x) { return softmax(x, 1); }, true),
                         one(
                             "log_softmax d0", kFloats, [](T x) { return log_softmax(x, 0); }, true),
                         one(
                             "log_softmax d1", kFloats, [](T x) { return log_softmax(x, 1); }, true),
                         one(
                             "logsumexp d1", kFloats, [](T x) { return logsumexp(x, {1}); }, true),
                         one(
                             "sort d1", kNumbers, [](T x) { return sort(x).values; }, true),
                         one("sort d0", kNumbers, [](T x) { return sort(x, 0).values; }),
                         one(
                             "median d1", kNumbers, [](T x) { return median(x, 1).values; }, true),
                         one("argsort d1", kNumbers, [](T x) { return argsort(x); }),
                         one(
                             "topk d1", kNumbers, [](T x) { return topk(x, 5).values; }, true)})
    rows.push_back(row);
  rows.push_back(
      {"sum middle", kNumbers, {{block}}, calls([](const Tensors& x) { return sum(x[0], {1}); }), true});
  rows.push_back({"sort line",
                  kNumbers,
                  {{line}},
                  calls([](const Tensors& x) { return sort(x[0]).values; }),
                  false,
                  false});
  rows.push_back({"topk line",
                  kNumbers,
                  {{line}},
                  calls([](const Tensors& x) { return topk(x[0], 10).values; }),
                  false,
                  false});
  rows.push_back({"cumsum line",
                  kNumbers,
                  {{line}},
                  calls([](const Tensors& x) { return cumsum(x[0], 0); }),
                  false,
                  false});
}

void add_index(std::vector<Row>& rows) {
  const Input index{square, 0, 1, Fill::positions, true}, list{row_of_square, 0, 1, Fill::positions, true};
  const Input mask{square, 0, 1, Fill::booleans};
  for (const int dim : {0, 1}) {
    const std::string d = " d" + std::to_string(dim);
    rows.push_back({"gather" + d,
                    kNumbers,
                    {{square}, index},
                    calls([dim](const Tensors& x) { return gather(x[0], dim, x[1]); }),
                    true});
    rows.push_back({"index_select" + d,
                    kNumbers,
                    {{square}, list},
                    calls([dim](const Tensors& x) { return index_select(x[0], dim, x[1]); }),
                    true});
    rows.push_back({"scatter" + d, kNumbers, {{square}, index, {square}}, calls([dim](const Tensors& x) {
                      return scatter(x[0], dim, x[1], x[2]);
                    })});
    rows.push_back({"scatter_add" + d,
                    kNumbers,
                    {{square}, index, {square}},
                    calls([dim](const Tensors& x) { return scatter_add(x[0], dim, x[1], x[2]); }),
                    true});
    rows.push_back({"index_add" + d,
                    kNumbers,
                    {{square}, list, {square}},
                    calls([dim](const Tensors& x) { return index_add(x[0], dim, x[1], x[2]); }),
                    true});
  }
  rows.push_back({"scatter number", kNumbers, {{square}, index}, calls([](const Tensors& x) {
                    return scatter(x[0], 1, x[1], 3);
                  })});
  rows.push_back({"masked_fill",
                  kNumbers,
                  {{square}, mask},
                  calls([](const Tensors& x) { return masked_fill(x[0], x[1], 0); }),
                  true});
  rows.push_back({"masked_select",
                  kNumbers,
                  {{square}, mask},
                  calls([](const Tensors& x) { return masked_select(x[0], x[1]); }),
                  true});
  rows.push_back(
      {"nonzero", kNumbers, {{square, -2, 2}}, calls([](const Tensors& x) { return nonzero(x[0]); })});
  rows.push_back(
      {"nonzero half", {DType::boolean}, {mask}, calls([](const Tensors& x) { return nonzero(x[0]); })});
  rows.push_back({"one_hot",
                  {DType::i64},
                  {list},
                  calls([](const Tensors& x) { return one_hot(x[0], x[0].size(0)); }),
                  false,
                  false});
}

void add_random(std::vector<Row>& rows) {
  const auto draws = [&](const char* name, std::vector<DType> dtypes, auto fn) {
    rows.push_back({name,
                    std::move(dtypes),
                    {{square, 0, 1}},
                    calls([fn](const Tensors& x) {
                      static Rng rng(1);
                      return fn(x[0], rng);
                    }),
                    false,
                    false});
  };
  draws("rand", kFloats, [](const Tensor& x, Rng& rng) { return rand(x.shape(), rng, 0, 1, x.dtype()); });
  draws("randn", kFloats, [](const Tensor& x, Rng& rng) { return randn(x.shape(), rng, 0, 1, x.dtype()); });
  draws("randint", {DType::i64},
        [](const Tensor& x, Rng& rng) { return randint(x.shape(), rng, 0, 100, x.dtype()); });
  draws("randperm", kF32, [](const Tensor& x, Rng& rng) { return randperm(x.numel(), rng); });
  draws("bernoulli", kFloats, [](const Tensor& x, Rng& rng) { return bernoulli(x, rng); });
  draws("multinomial", kF32, [](const Tensor& x, Rng& rng) { return multinomial(x, 10, rng); });
}

}  // namespace

std::vector<Row> line_rows() {
  std::vector<Row> rows;
  add_reductions(rows);
  add_index(rows);
  add_random(rows);
  return rows;
}

}  // namespace veldt::bench
