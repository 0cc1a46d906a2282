// Sorting and selecting against std::stable_sort: ties, both zeros, NaN, every dtype, short and long lines;
// and that neither threads nor layouts leave a trace in what works along lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/kernels/convert.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/index.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/scan.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/sort.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using I64 = std::int64_t;
constexpr DType kAll[] = {DType::f32, DType::f64, DType::bf16, DType::f16,    DType::i64,
                          DType::i32, DType::u8,  DType::i8,   DType::boolean};

// Few numbers, so that many are equal; of floats both zeros, infinities and NaN of both signs among them.
Tensor tied(I64 n, DType t, Rng& rng) {
  const Tensor whole =
      randint({n}, rng, t == DType::u8 || t == DType::boolean ? 0 : -9, t == DType::boolean ? 2 : 9);
  if (!is_float(t)) return to(whole, t);
  std::vector<double> v = to(whole, DType::f64).values<double>();
  for (double& x : v) {
    if (x == 8) x = NAN;
    if (x == -8) x = -NAN;
    if (x == 7) x = INFINITY;
    if (x == -7) x = -INFINITY;
    if (x == 6) x = -0.0;
  }
  return to(Tensor::from<double>({n}, v), t);
}

std::vector<I64> expected_order(const Tensor& x, bool descending) {
  const std::vector<double> v = to(x, DType::f64).values<double>();
  std::vector<I64> order(v.size());
  std::iota(order.begin(), order.end(), 0);
  const auto less = [&](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
  std::stable_sort(order.begin(), order.end(), [&](I64 i, I64 j) {
    const double a = v[static_cast<std::size_t>(i)], b = v[static_cast<std::size_t>(j)];
    return descending ? less(b, a) : less(a, b);
  });
  return order;
}

TEST(Order, IsThatOfAStableSort) {
  Rng rng(1);
  for (const DType t : kAll)
    for (const I64 n : {1, 2, 17, 192, 193, 5000})
      for (const bool descending : {false, true}) {
        SCOPED_TRACE(testing::Message() << t << ", " << n << (descending ? ", falling" : ""));
        const Tensor x = tied(n, t, rng);
        const std::vector<I64> wanted = expected_order(x, descending);
        EXPECT_EQ(argsort(x, 0, descending).values<I64>(), wanted);
        for (const I64 k : {I64{1}, I64{3}, n / 20, n / 2, n}) {
          if (k < 1 || k > n) continue;
          const std::vector<I64> first(wanted.begin(), wanted.begin() + k);
          EXPECT_EQ(topk(x, k, 0, descending).indices.values<I64>(), first) << k << " of them";
        }
      }
}

// Digits that a part of the numbers share, and some that all do.
TEST(Order, OfManyNumbersThatLieUnevenly) {
  Rng rng(2);
  const I64 n = 200'000;
  const Tensor spread = exp(20 * randn({n}, rng, 0, 1, DType::f64)), close = 1 + 1e-3 * rand({n}, rng);
  for (const Tensor& x :
       {spread, close, to(spread, DType::f32), to(close, DType::bf16), randint({n}, rng, 0, 3),
        randint({n}, rng, -5, 1 << 30), arange(n, DType::i64), -arange(n)}) {
    EXPECT_EQ(argsort(x).values<I64>(), expected_order(x, false)) << x.dtype();
    EXPECT_EQ(topk(x, 7).indices.values<I64>(), slice(argsort(x, 0, true), 0, 0, 7).values<I64>())
        << x.dtype();
  }
}

TEST(Order, OfTheLargestAndSmallestNumbers) {
  const I64 most = std::numeric_limits<I64>::max(), least = std::numeric_limits<I64>::min();
  const std::vector<I64> wide = {most, 0, least, -1, most - 1, least + 1, 1};
  EXPECT_THAT(argsort(Tensor::from<I64>({7}, wide)).values<I64>(), testing::ElementsAre(2, 5, 3, 1, 6, 4, 0));
  const Tensor f = Tensor::of({6}, {5e-324, -5e-324, 0, 1.7e308, -1.7e308, -0.0}, DType::f64);
  EXPECT_THAT(argsort(f).values<I64>(), testing::ElementsAre(4, 1, 2, 5, 0, 3));
}

// As torch.cummax and cummin have it: of equals the last, and a NaN stays until the next.
TEST(RunningExtremes, OfEqualsAndNaNs) {
  const Tensor x = Tensor::of({6}, {2, 2, 1, NAN, 3, NAN});
  const Sorted up = cummax(x, 0), down = cummin(x, 0);
  EXPECT_THAT(up.indices.values<std::int64_t>(), testing::ElementsAre(0, 1, 1, 3, 3, 5));
  EXPECT_THAT(down.indices.values<std::int64_t>(), testing::ElementsAre(0, 1, 2, 3, 3, 5));
  EXPECT_TRUE(std::isnan(up.values.values<float>()[4]));
  EXPECT_EQ(cummax(Tensor::of({}, {3}), 0).indices.shape(), Shape{});
  EXPECT_EQ(cummax(zeros({2, 0}), 1).values.shape(), Shape({2, 0}));
  EXPECT_THROW(cummax(x, 1), ShapeError);
}

TEST(Topk, OfRisingFallingAndEqualNumbers) {
  const Tensor rising = arange(20000, DType::f32);
  EXPECT_THAT(topk(rising, 2).indices.values<I64>(), testing::ElementsAre(19999, 19998));
  EXPECT_THAT(topk(rising, 2, 0, false).indices.values<I64>(), testing::ElementsAre(0, 1));
  EXPECT_THAT(topk(rising * -1, 2).indices.values<I64>(), testing::ElementsAre(0, 1));
  EXPECT_THAT(topk(zeros({20000}), 3).indices.values<I64>(), testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(topk(full({20000}, NAN), 3, 0, false).indices.values<I64>(), testing::ElementsAre(0, 1, 2));
}

TEST(Topk, OfColumnsAndOfNothing) {
  Rng rng(2);
  const Tensor x = randn({500, 7}, rng), y = transpose(x, 0, 1);
  EXPECT_EQ(topk(x, 4, 0).values.values<float>(),
            contiguous(transpose(topk(y, 4, 1).values, 0, 1)).values<float>());
  EXPECT_EQ(topk(x, 0, 0).values.shape(), (Shape{0, 7}));
  EXPECT_EQ(topk(zeros({0, 3}), 2, 1).indices.shape(), (Shape{0, 2}));
  Tensor w = randn({300}, rng, 0, 1, DType::f64).set_requires_grad();
  sum(topk(w, 2).values).backward();
  EXPECT_EQ(sum(w.grad()).item(), 2);
  EXPECT_EQ(select(gather(w.grad(), 0, topk(w, 2).indices), 0, 1).item(), 1);
}

// What each op gives of a matrix along either dimension, and of its transpose, as bits.
std::vector<std::vector<float>> results(const Tensor& x) {
  std::vector<std::vector<float>> all;
  const auto add = [&](const Tensor& y) { all.push_back(contiguous(to(y, DType::f32)).values<float>()); };
  for (const int dim : {0, 1}) {
    add(softmax(x, dim));
    add(log_softmax(x, dim));
    add(cumsum(x, dim));
    add(cumprod(x, dim));
    add(argmax(x, dim));
    add(argsort(x, dim));
    add(topk(x, std::min<I64>(2, x.size(dim)), dim).values);
    add(sum(x, {dim}));
    add(max(x, {dim}));
    add(norm(x, 2, {dim}));
    const Tensor index = argsort(x, dim), twice = floor_divide(index, 2);
    add(gather(x, dim, index));
    add(scatter_add(x, dim, twice, x));
    add(scatter(x, dim, twice, x));
  }
  return all;
}

TEST(Lines, GiveTheSameBitsOnAnyNumberOfThreads) {
  Rng rng(3);
  const test::ThreadsScope scope;
  for (const DType t : {DType::f32, DType::bf16, DType::f16})
    for (const Shape& shape : {Shape{70, 600}, Shape{600, 70}, Shape{1, 20000}}) {
      const Tensor x = to(randn(shape, rng), t);
      set_num_threads(1);
      const auto wanted = results(x);
      for (const int threads : {2, 3}) {
        set_num_threads(threads);
        EXPECT_TRUE(results(x) == wanted) << t << ", " << shape << ", " << threads << " threads";
      }
    }
  const Tensor whole = randint({300000}, rng, 0, 1 << 30);
  set_num_threads(1);
  const std::vector<I64> wanted = argsort(whole).values<I64>();
  set_num_threads(3);
  EXPECT_EQ(argsort(whole).values<I64>(), wanted);
}

TEST(Lines, GiveTheSameBitsHoweverTheyLie) {
  Rng rng(4);
  for (const DType t : {DType::f32, DType::f64, DType::bf16}) {
    const Tensor x = to(randn({67, 133}, rng), t), lying = transpose(contiguous(transpose(x, 0, 1)), 0, 1);
    for (const int dim : {0, 1})
      for (const auto& op : {softmax, log_softmax, cumsum, cumprod})
        EXPECT_EQ(to(op(x, dim), DType::f64).values<double>(),
                  contiguous(to(op(lying, dim), DType::f64)).values<double>());
  }
  // Running back, and with factors.
  const auto gradient = [](const Tensor& given, auto op, int dim) {
    Tensor x = given.detach().set_requires_grad();
    sum(square(op(x, dim))).backward();
    return contiguous(x.grad()).values<double>();
  };
  const Tensor x = 1 + 0.1 * randn({67, 133}, rng, 0, 1, DType::f64),
               lying = transpose(contiguous(transpose(x)));
  for (const int dim : {0, 1})
    for (const auto& op : {cumsum, cumprod}) EXPECT_EQ(gradient(x, op, dim), gradient(lying, op, dim));
}

// Bits alike, or both NaN.
void expect_equal(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_TRUE(all(logical_or(equal(a, b), logical_and(isnan(a), isnan(b)))).item());
}

TEST(Halves, AreReadAsTheFloatsThatTheyAre) {
  // Every half there is, in the paths of rows and of columns; signs of zeros are left out.
  for (const DType t : {DType::bf16, DType::f16}) {
    std::vector<double> every(65536);
    for (std::size_t i = 0; i < every.size(); ++i) {
      const auto half = static_cast<std::uint16_t>(i);
      every[i] = static_cast<double>(t == DType::bf16 ? scalar::load(scalar::BFloat16{half})
                                                      : scalar::load(scalar::Float16{half}));
    }
    const Tensor exact = Tensor::from<double>({65536}, every), x = to(exact, t);
    expect_equal(to(max(stack({x, x}, 0), {0}), DType::f64), exact);
    expect_equal(to(max(repeat(unsqueeze(x, 1), {1, 70}), {1}), DType::f64), exact);
    EXPECT_EQ(argmax(x, 0).item(), static_cast<double>(argmax(exact, 0).item()));
  }
}

TEST(Halves, AreReducedAsFloatsAndRoundedOnce) {
  Rng rng(5);
  for (const DType t : {DType::bf16, DType::f16}) {
    const Tensor x = to(randn({90, 250}, rng), t), wide = to(x, DType::f32);
    for (const Dims& dims : {Dims{}, Dims{0}, Dims{1}}) {
      expect_equal(sum(x, dims), to(sum(wide, dims), t));
      expect_equal(sum(transpose(x, 0, 1), dims), to(sum(transpose(wide, 0, 1), dims), t));
      expect_equal(mean(x, dims), to(mean(wide, dims), t));
      expect_equal(max(x, dims), to(max(wide, dims), t));
      expect_equal(norm(x, 2, dims), to(norm(wide, 2, dims), t));
      expect_equal(prod(x, dims), to(prod(wide, dims), t));
    }
    for (const int dim : {0, 1}) {
      expect_equal(softmax(x, dim), to(softmax(wide, dim), t));
      expect_equal(log_softmax(x, dim), to(log_softmax(wide, dim), t));
      expect_equal(cumsum(x, dim), to(cumsum(wide, dim), t));
      expect_equal(cumprod(x, dim), to(cumprod(wide, dim), t));
      expect_equal(argmin(x, dim), argmin(wide, dim));
    }
  }
}

TEST(Norm, DoesNotOverflowInFloats) {
  EXPECT_EQ(norm(Tensor::of({2}, {3e38, 0})).item(), static_cast<double>(3e38f));
  EXPECT_FLOAT_EQ(static_cast<float>(norm(Tensor::of({2}, {1.5e38, 2e38})).item()), 2.5e38f);
  EXPECT_FLOAT_EQ(static_cast<float>(norm(Tensor::of({2}, {3e-40, 4e-40})).item()), 5e-40f);
}

TEST(LargestOfALine, ComesWithItsPlace) {
  const Tensor x = Tensor::of({2, 3}, {1, 7, 7, 5, -2, 0});
  const auto [values, indices] = max(x, 1);
  EXPECT_THAT(values.values<float>(), testing::ElementsAre(7, 5));
  EXPECT_THAT(indices.values<std::int64_t>(), testing::ElementsAre(1, 0));
  EXPECT_EQ(max(x, -1, true).values.shape(), (Shape{2, 1}));
  EXPECT_THAT(min(x, 0).values.values<float>(), testing::ElementsAre(1, -2, 0));
  EXPECT_THAT(min(x, 0).indices.values<std::int64_t>(), testing::ElementsAre(0, 1, 1));
  EXPECT_EQ(max(x, {1}).shape(), Shape{2});  // a list of dimensions, as ever
  EXPECT_EQ(max(Tensor::of({}, {3}), 0).indices.item(), 0);
  EXPECT_THAT(min(Tensor::of({1, 3}, {1, NAN, -1}), 1).indices.values<std::int64_t>(),
              testing::ElementsAre(1));
  EXPECT_THROW(max(zeros({2, 0}), 1), ShapeError);
  EXPECT_THROW(max(x, 2), ShapeError);
}

TEST(LargestOfALine, HasTheGradient) {
  const Tensor x = Tensor::of({2, 3}, {1, 7, 7, 5, -2, 0}).set_requires_grad();
  sum(max(x, 1).values * Tensor::of({2}, {2, 3})).backward();
  EXPECT_THAT(x.grad().values<float>(), testing::ElementsAre(0, 2, 0, 3, 0, 0));
}

TEST(Median, IsTheLowerOfTwoAndSeesNaN) {
  const Tensor x = Tensor::of({2, 4}, {4, 1, 3, 2, 9, NAN, 8, 7});
  const auto [values, indices] = median(x, 1);
  EXPECT_EQ(values.values<float>()[0], 2);
  EXPECT_TRUE(std::isnan(values.values<float>()[1]));
  EXPECT_THAT(indices.values<std::int64_t>(), testing::ElementsAre(3, 1));
  EXPECT_EQ(median(arange(10)).item(), 4);
  EXPECT_EQ(median(reshape(arange(9), {3, 3}), 0, true).values.shape(), (Shape{1, 3}));
  EXPECT_THROW(median(zeros({2, 0}), 1), ShapeError);
  const Tensor y = Tensor::of({3}, {3, 1, 2}).set_requires_grad();
  median(y).backward();
  EXPECT_THAT(y.grad().values<float>(), testing::ElementsAre(0, 0, 1));
}

}  // namespace
}  // namespace veldt
