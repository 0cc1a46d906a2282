// Ops along a line, by index and by subscript: what they refuse, what they make of special numbers, and that
// a Plan can record them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/support/error_of.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/threads.h"
#include "veldt/ops/activation.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/einsum.h"
#include "veldt/ops/index.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/scan.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/sort.h"
#include "veldt/tensor/plan.h"

namespace veldt {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using I64 = std::int64_t;

const Tensor& odd() {
  static const Tensor x = Tensor::of({2, 3}, {1, NAN, 2, 3, 0, -1});
  return x;
}

TEST(Softmax, NeverOverflows) {
  const Tensor x = Tensor::of({2, 2}, {1000, 999, -1000, -INFINITY});
  EXPECT_THAT(softmax(x, 1).values<float>(),
              ElementsAre(testing::FloatEq(0.7310586f), testing::FloatEq(0.26894142f), 1, 0));
  EXPECT_THAT(log_softmax(x, 1).values<float>(),
              ElementsAre(testing::FloatEq(-0.31326169f), testing::FloatEq(-1.3132617f), 0, -INFINITY));
  EXPECT_THAT(logsumexp(x, {1}).values<float>(), ElementsAre(testing::FloatEq(1000.3133f), -1000));
  EXPECT_EQ(logsumexp(full({3}, -INFINITY)).item(), -INFINITY);
  EXPECT_EQ(logsumexp(full({3}, INFINITY)).item(), INFINITY);
  EXPECT_TRUE(std::isnan(logsumexp(odd()).item()));
  EXPECT_TRUE(std::isnan(softmax(full({2}, -INFINITY), 0).values<float>()[0]));
}

// The kernel's against those made of single ops, however the gradient lies in memory.
TEST(SoftmaxGradient, IsThatOfSingleOps) {
  struct Case {
    Shape shape;
    int dim;
  };
  for (const auto& [size, dim] :
       {Case{{5, 1003}, 1}, Case{{1003, 5}, 0}, Case{{3, 70, 150}, 1}, Case{{4, 9}, 1}})
    for (const bool transposed : {false, true})
      for (const auto op : {softmax, log_softmax})
        for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
          const auto gradient = [&, shape = size, d = dim](DType as, bool create_graph) {
            const auto number = [&](std::uint64_t seed) {
              Rng own(seed);
              Shape turned = shape;
              std::swap(turned[0], turned[shape.rank() - 1]);
              const Tensor x = transposed ? transpose(randn(turned, own), 0, -1) : randn(shape, own);
              return to(to(x, dtype), as);
            };
            Tensor x = number(1);
            x.set_requires_grad();
            return to(grad(op(x, d), {x}, create_graph, number(2))[0].detach(), DType::f64);
          };
          const Tensor expected = gradient(DType::f64, true);
          const double tolerance = dtype == DType::f64 ? 1e-14 : dtype == DType::f32 ? 2e-6 : 0x1p-7;
          EXPECT_LE(max(abs(gradient(dtype, false) - expected)).item(), tolerance * max(abs(expected)).item())
              << size << ", dim " << dim << ", " << dtype << (transposed ? ", transposed" : "");
        }
}

// For a class that is all but certain, the gradient is what is missing to 1, and keeps its digits.
TEST(SoftmaxGradient, OfLogarithmsOfHalvesKeepsSmallDifferences) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Tensor x = to(Tensor::of({1, 2}, {9, 0}), dtype).set_requires_grad();
    const Tensor dx = grad(log_softmax(x, 1), {x}, false, to(Tensor::of({1, 2}, {-1, 0}), dtype))[0];
    const double missing = 1 / (std::exp(9.0) + 1);
    EXPECT_NEAR(select(dx, 1, 0).item(), -missing, missing * 0x1p-8);
    EXPECT_NEAR(select(dx, 1, 1).item(), missing, missing * 0x1p-8);
  }
}

TEST(NaN, GoesThroughAsInPyTorch) {
  EXPECT_THAT(argmax(odd(), 1).values<I64>(), ElementsAre(1, 0));
  EXPECT_THAT(argmin(odd(), 1).values<I64>(), ElementsAre(1, 2));
  EXPECT_THAT(argsort(odd(), 1).values<I64>(), ElementsAre(0, 2, 1, 2, 1, 0));
  EXPECT_THAT(argsort(odd(), 1, true).values<I64>(), ElementsAre(1, 2, 0, 0, 1, 2));
  EXPECT_THAT(topk(odd(), 1, 1).indices.values<I64>(), ElementsAre(1, 0));
  EXPECT_THAT(any(odd(), {1}).values<bool>(), ElementsAre(true, true));
  EXPECT_THAT(all(odd(), {1}).values<bool>(), ElementsAre(true, false));
  EXPECT_TRUE(std::isnan(cumsum(odd(), 1).values<float>()[2]));
  EXPECT_TRUE(std::isnan(norm(odd()).item()));
}

TEST(CumulativeProduct, HasGradientsOfEveryOrderAtZeros) {
  // d2/dx1dx2 of x0 x1 x2 is x0, though the products with zeros are 0.
  const Tensor x = Tensor::of({3}, {5, 0, 0}, DType::f64).set_requires_grad();
  for (const auto& of : {+[](const Tensor& t) { return prod(t); },
                         +[](const Tensor& t) { return select(cumprod(t, 0), 0, 2); }}) {
    const Tensor first = grad(of(x), {x}, true)[0];
    EXPECT_THAT(first.detach().values<double>(), ElementsAre(0, 0, 0));
    EXPECT_THAT(grad(select(first, 0, 1), {x})[0].values<double>(), ElementsAre(0, 0, 5));
  }
}

TEST(Lines, ComputeOfEveryDtype) {
  for (DType t : {DType::bf16, DType::f16}) {
    const Tensor x = Tensor::of({3}, {2, 0.5, 1}, t);
    for (const Tensor& y :
         {cumsum(x, 0), cumprod(x, 0), softmax(x, 0), log_softmax(x, 0), logsumexp(x), prod(x), norm(x),
          sort(x).values, flip(x, {0}), stddev(x), pad(x, {1, 1}), tril(diag(x)),
          index_add(x, 0, Tensor::of({1}, {1}, DType::i64), Tensor::of({1}, {3}, t))})
      EXPECT_EQ(y.dtype(), t);
    EXPECT_THAT(to(cumsum(x, 0), DType::f32).values<float>(), ElementsAre(2, 2.5f, 3.5f));
    EXPECT_THAT(argsort(x).values<I64>(), ElementsAre(1, 2, 0));
  }
  for (DType t : {DType::i64, DType::i32, DType::u8}) {
    const Tensor x = Tensor::of({3}, {2, 5, 1}, t);
    EXPECT_THAT(cumsum(x, 0).values<I64>(), ElementsAre(2, 7, 8));
    EXPECT_THAT(cumprod(x, 0).values<I64>(), ElementsAre(2, 10, 10));
    EXPECT_THAT(prod(x).values<I64>(), ElementsAre(10));
    EXPECT_EQ(sort(x).values.dtype(), t);
    EXPECT_EQ(softmax(x, 0).dtype(), DType::f32);
    EXPECT_EQ(scatter_add(x, 0, zeros({2}, DType::i64), ones({2}, t)).dtype(), t);
  }
}

TEST(Index, NamesThePositionBeyondTheSize) {
  const Tensor x = zeros({3}), bad = Tensor::of({1}, {3}, DType::i64);
  EXPECT_THAT(error_of<ShapeError>([&] { scatter(x, 0, bad, ones({1})); }), HasSubstr("position 3"));
  EXPECT_THAT(error_of<ShapeError>([&] { scatter_add(x, 0, bad, ones({1})); }), HasSubstr("position 3"));
  EXPECT_THAT(error_of<ShapeError>([&] { index_add(x, 0, bad, ones({1})); }), HasSubstr("position 3"));
  EXPECT_THAT(error_of<ShapeError>([&] { scatter(x, 0, zeros({1}, DType::i64), ones({2})); }),
              HasSubstr("[2]"));
  EXPECT_THAT(error_of<ShapeError>([&] { masked_select(x, x); }), HasSubstr("f32"));
  EXPECT_THAT(error_of<ShapeError>([&] { one_hot(x, 3); }), HasSubstr("f32"));
}

TEST(Arrange, SaysWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  EXPECT_THAT(error_of<ShapeError>([&] { narrow(x, 1, 2, 2); }), HasSubstr("its size is 3"));
  EXPECT_THAT(error_of<ShapeError>([&] { split(x, 0); }), HasSubstr("count of 0"));
  EXPECT_THAT(error_of<ShapeError>([&] { flip(x, {0, -2}); }), HasSubstr("dimension 0 twice"));
  EXPECT_THAT(error_of<ShapeError>([&] { repeat(x, {2}); }), HasSubstr("[2, 3]"));
  EXPECT_THAT(error_of<ShapeError>([&] { repeat(x, {2, -1}); }), HasSubstr("count of -1"));
  EXPECT_THAT(error_of<ShapeError>([&] { unflatten(x, 1, {2, 2}); }), HasSubstr("[2, 2]"));
  EXPECT_THAT(error_of<ShapeError>([&] { pad(x, {1}); }), HasSubstr("pairs"));
  EXPECT_THAT(error_of<ShapeError>([&] { pad(x, {-1, 0}, PadMode::reflect); }), HasSubstr("count of -1"));
  EXPECT_THAT(error_of<ShapeError>([&] { tril(zeros({3})); }), HasSubstr("[3]"));
  EXPECT_THAT(error_of<ShapeError>([&] { diagonal(x, 0, 1, -1); }), HasSubstr("dimension 1 twice"));
  EXPECT_THAT(error_of<ShapeError>([&] { topk(x, 4); }), HasSubstr("its size is 3"));
  EXPECT_THAT(error_of<ConfigError>([] { arange(0, 5, -1); }), HasSubstr("by -1"));
  EXPECT_THAT(error_of<ConfigError>([] { arange(0, 5, 0); }), HasSubstr("by 0"));
  EXPECT_THAT(error_of<ConfigError>([] { celu(zeros({1}), 0); }), HasSubstr("alpha"));
  Rng rng(1);
  EXPECT_THAT(error_of<ConfigError>([&] { randint({2}, rng, 3, 3); }), HasSubstr("from 3"));
  EXPECT_THAT(error_of<ShapeError>([&] { multinomial(zeros({2, 0}), 1, rng); }), HasSubstr("[2, 0]"));
}

TEST(Einsum, NamesTheSubscriptThatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  const auto text = [&](std::string_view equation, const std::vector<Tensor>& in) {
    return error_of<ShapeError>([&] { einsum(equation, in); });
  };
  EXPECT_THAT(text("ij,jk->ik", {x, x}), HasSubstr("'j' is both 3 and 2"));
  EXPECT_THAT(text("ii->i", {x}), HasSubstr("'i' is both 2 and 3"));
  EXPECT_THAT(text("ijk->i", {x}), HasSubstr("\"ijk\" has 3 subscripts"));
  EXPECT_THAT(text("ij->ik", {x}), HasSubstr("'k', which no tensor has"));
  EXPECT_THAT(text("ij->ii", {x}), HasSubstr("'i' twice"));
  EXPECT_THAT(text("i1->i", {x}), HasSubstr("'1' is not a subscript"));
  EXPECT_THAT(text("ij,ij", {x}), HasSubstr("2 tensors, 1 were given"));
  EXPECT_THAT(text("...i,...i->...", {zeros({2, 3}), zeros({4, 3})}), HasSubstr("'...' is both 2 and 4"));
}

// Each step is recorded, replayed on other numbers, and compared with the step itself.
TEST(Plan, RecordsTheOpsOfALine) {
  const Tensor x = Tensor::of({4, 4}, {3, 1, 2, 0.5, 1, 4, 2, -1, 0, 1, 2, 3, -2, 5, 1, 0});
  const Tensor w = ones({4, 4}).set_requires_grad();
  Rng rng(3);
  const auto step = [&] {
    const Tensor y = x * w;
    const Tensor a = softmax(y, 1) + cumsum(y, 0) + cumprod(y, 1) + sort(y, 1).values + flip(y, {0});
    const Tensor b = tril(einsum("ij,kj->ik", {y, y})) + gelu(y) + roll(y, 1, 0) + norm(y) + logsumexp(y);
    const Tensor c =
        pad(narrow(y, 0, 0, 3), {0, 0, 1, 0}) + eye(4) + to(arange(4), DType::f32) + diag(prod(y, {0}));
    const Tensor index = to(one_hot(argmax(y, 1), 4), DType::f32);
    return grad(sum(a * b + c * index + scatter(y, 0, zeros({1, 4}, DType::i64), 2)), {w})[0];
  };
  Plan plan(step);
  for (int k = 0; k < 3; ++k) {
    x.detach().assign(x * 0.75 + 0.1);
    plan.replay();
    EXPECT_EQ(plan.output().values<float>(), step().values<float>());
  }
}

TEST(Plan, DrawsOnAtRandom) {
  Rng planned(5), plain(5);
  Plan plan([&] {
    return TensorList{randint({4}, planned, 0, 100), randperm(5, planned), bernoulli(full({4}, 0.5), planned),
                      multinomial(ones({3}), 4, planned)};
  });
  for (int k = 0; k < 3; ++k) {
    plan.replay();
    EXPECT_EQ(plan.output(0).values<I64>(), randint({4}, plain, 0, 100).values<I64>());
    EXPECT_EQ(plan.output(1).values<I64>(), randperm(5, plain).values<I64>());
    EXPECT_EQ(plan.output(2).values<float>(), bernoulli(full({4}, 0.5), plain).values<float>());
    EXPECT_EQ(plan.output(3).values<I64>(), multinomial(ones({3}), 4, plain).values<I64>());
  }
}

TEST(Randperm, HoldsEachNumberOnceAnywhereOnAnyNumberOfThreads) {
  constexpr std::int64_t n = 300000, kCells = 10;
  const auto drawn = [](int threads) {
    const test::ThreadsScope scope;
    set_num_threads(threads);
    Rng rng(21);
    const Tensor order = randperm(n, rng);
    return order.values<I64>();
  };
  const std::vector<I64> order = drawn(1);
  EXPECT_EQ(drawn(3), order);
  std::vector<int> seen(n), counts(kCells * kCells);
  for (std::int64_t k = 0; k < n; ++k) {
    const I64 i = order[static_cast<std::size_t>(k)];
    ++seen[static_cast<std::size_t>(i)];
    ++counts[static_cast<std::size_t>(k * kCells / n * kCells + i * kCells / n)];
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), n);
  for (const int count : counts) EXPECT_NEAR(count, n / kCells / kCells, 5 * 55);  // of a deviation below 55
}

TEST(Randperm, GivesEveryOrderAsOften) {
  Rng rng(22);
  std::map<std::vector<I64>, int> counts;
  for (int k = 0; k < 24000; ++k) ++counts[randperm(4, rng).values<I64>()];
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 5 * 31);
}

}  // namespace
}  // namespace veldt
