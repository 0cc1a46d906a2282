// Reductions against a plain loop in double, over the layouts that a view can have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/views.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"

namespace veldt {
namespace {
using test::Array;

// The shape of x with the dimensions in `dims` (bits) reduced to 1.
Shape reduced(Shape shape, int dims) {
  for (int d = 0; d < shape.rank(); ++d)
    if (dims >> d & 1) shape[d] = 1;
  return shape;
}

template <class T> std::vector<double> oracle(ReduceOp op, const View& x, const Shape& out_shape) {
  const double start = op == ReduceOp::sum ? 0 : op == ReduceOp::max ? -INFINITY : INFINITY;
  Array<double> out(out_shape, start);
  const View view = out.view();
  test::for_each_index(x.shape, [&](const Shape& index) {
    double& acc = test::at<double>(view, index);
    const double value = static_cast<double>(test::at<T>(x, index));
    if (op == ReduceOp::sum)
      acc += value;
    else if (acc == acc && (value != value || (op == ReduceOp::max ? value > acc : value < acc)))
      acc = value;
  });
  return out.values();
}

template <class T> void expect_reduces(const View& x, int dims) {
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min}) {
    Array<T> out(reduced(x.shape, dims), T(77));
    cpu::backend().reduce(op, x, out.view());
    const std::vector<double> wanted = oracle<T>(op, x, reduced(x.shape, dims));
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(static_cast<double>(out[static_cast<std::int64_t>(i)]), wanted[i],
                  2e-7 * (1 + std::abs(wanted[i])))
          << "element " << i << " of " << x.shape << " dims " << dims << " op " << static_cast<int>(op);
  }
}

TEST(Reduce, AgreesWithAPlainLoopOverEverySubsetOfDimensions) {
  for (const Shape& shape :
       {Shape{7}, Shape{1}, Shape{5, 67}, Shape{130, 3}, Shape{3, 1, 4}, Shape{4, 33, 5, 2}}) {
    Array<float> f = Array<float>::random(shape, 1);
    Array<double> d = Array<double>::random(shape, 2);
    Array<std::int64_t> i = Array<std::int64_t>::random(shape, 3, -100, 100);
    Array<std::int32_t> narrow = Array<std::int32_t>::random(shape, 4, -100, 100);
    for (int dims = 0; dims < 1 << shape.rank(); ++dims) {
      expect_reduces<float>(f.view(), dims);
      expect_reduces<double>(d.view(), dims);
      expect_reduces<std::int64_t>(i.view(), dims);
      expect_reduces<std::int32_t>(narrow.view(), dims);
    }
  }
}

TEST(Reduce, ReadsTransposedSlicedAndBroadcastViews) {
  Array<float> x = Array<float>::random({6, 40, 9}, 4);
  const View t = test::transposed(x.view(), 0, 2), s = test::sliced<float>(x.view(), 1, 3, 12, 3);
  const View r = test::repeated(test::sliced<float>(x.view(), 1, 5, 1), 1, 11);
  for (int dims = 0; dims < 8; ++dims) {
    expect_reduces<float>(t, dims);
    expect_reduces<float>(s, dims);
    expect_reduces<float>(test::transposed(s, 1, 2), dims);
    expect_reduces<float>(r, dims);
  }
}

TEST(Reduce, SharesOutLargeReductions) {
  Array<float> x = Array<float>::random({3000, 70}, 5);
  for (int dims = 0; dims < 4; ++dims) {
    expect_reduces<float>(x.view(), dims);
    expect_reduces<float>(test::transposed(x.view(), 0, 1), dims);
  }
  Array<float> narrow = Array<float>::random({70001, 3}, 6);
  expect_reduces<float>(narrow.view(), 1);
  expect_reduces<float>(narrow.view(), 2);
  Array<float> blocks = Array<float>::random({40, 2, 1000}, 7);
  for (int dims = 0; dims < 8; ++dims) expect_reduces<float>(blocks.view(), dims);
}

TEST(Reduce, PutsLargeViewsWithGapsTogether) {
  Array<float> x = Array<float>::random({80, 4100}, 9);
  Array<std::int64_t> whole = Array<std::int64_t>::random({80, 4100}, 10, -100, 100);
  for (int dims = 0; dims < 4; ++dims) {
    expect_reduces<float>(test::sliced<float>(x.view(), 1, 1, 2050, 2), dims);
    expect_reduces<float>(test::transposed(test::sliced<float>(x.view(), 1, 1, 1360, 3), 0, 1), dims);
    expect_reduces<std::int64_t>(test::sliced<std::int64_t>(whole.view(), 1, 0, 2050, 2), dims);
  }
}

TEST(Reduce, WritesIntoAStridedOutput) {
  Array<float> x({2, 3}, {1, 2, 3, 4, 5, 6}), out({2, 4});
  cpu::backend().reduce(ReduceOp::sum, x.view(), test::sliced<float>(out.view(), 1, 2, 1));
  EXPECT_EQ(out.values(), (std::vector<float>{0, 0, 6, 0, 0, 0, 15, 0}));
}

TEST(Reduce, SumOfNothingIsZero) {
  Array<float> x({3, 0}), rows({3, 1}, 9.0f), all({1, 1}, 9.0f), none({1, 0});
  cpu::backend().reduce(ReduceOp::sum, x.view(), rows.view());
  cpu::backend().reduce(ReduceOp::sum, x.view(), all.view());
  cpu::backend().reduce(ReduceOp::sum, x.view(), none.view());
  EXPECT_EQ(rows.values(), std::vector<float>(3, 0.0f));
  EXPECT_EQ(all[0], 0.0f);
}

TEST(Reduce, ScalarReducesToItself) {
  Array<float> x(Shape{}, 2.5f), out(Shape{});
  cpu::backend().reduce(ReduceOp::max, x.view(), out.view());
  EXPECT_EQ(out[0], 2.5f);
}

TEST(Reduce, MeanOfTenMillionValuesIsExactToSixDigits) {
  const std::int64_t n = 10'000'000;
  Array<float> x({n}, 0.1f), out({1});
  cpu::backend().reduce(ReduceOp::sum, x.view(), out.view());
  EXPECT_NEAR(static_cast<double>(out[0]) / static_cast<double>(n) / static_cast<double>(0.1f), 1.0, 1e-7);
}

TEST(Reduce, NanWinsWhereverItStands) {
  for (std::int64_t n : {1, 5, 64, 200}) {
    for (std::int64_t place : {std::int64_t{0}, n / 2, n - 1}) {
      Array<float> x = Array<float>::random({n, 3}, 8);
      x[place * 3 + 1] = std::numeric_limits<float>::quiet_NaN();
      for (ReduceOp op : {ReduceOp::max, ReduceOp::min}) {
        Array<float> columns({1, 3}), all({1, 1});
        cpu::backend().reduce(op, x.view(), columns.view());
        cpu::backend().reduce(op, x.view(), all.view());
        EXPECT_FALSE(std::isnan(columns[0]));
        EXPECT_TRUE(std::isnan(columns[1]));
        EXPECT_TRUE(std::isnan(all[0]));
      }
    }
  }
}

TEST(Reduce, MaximumOfInfinitiesIsInfinite) {
  Array<float> x({100}, -INFINITY), out({1});
  cpu::backend().reduce(ReduceOp::max, x.view(), out.view());
  EXPECT_EQ(out[0], -INFINITY);
}

TEST(Reduce, CountsBooleansAndBytesInIntegers) {
  Array<bool> b({2, 3}, {true, false, true, true, true, true});
  Array<std::uint8_t> u({2, 200}, std::uint8_t{255});
  Array<std::int64_t> counts({2, 1});
  cpu::backend().reduce(ReduceOp::sum, b.view(), counts.view());
  EXPECT_EQ(counts.values(), (std::vector<std::int64_t>{2, 3}));
  cpu::backend().reduce(ReduceOp::sum, u.view(), counts.view());
  EXPECT_EQ(counts.values(), (std::vector<std::int64_t>{51000, 51000}));
}

TEST(Reduce, FindsTheExtremesOfBytes) {
  Array<std::uint8_t> x = Array<std::uint8_t>::random({300, 70}, 11, 0, 256);
  for (int dims = 0; dims < 4; ++dims)
    for (ReduceOp op : {ReduceOp::max, ReduceOp::min})
      for (const View& view : {x.view(), test::transposed(x.view(), 0, 1)}) {
        Array<std::uint8_t> out(reduced(view.shape, dims));
        cpu::backend().reduce(op, view, out.view());
        const std::vector<double> wanted = oracle<std::uint8_t>(op, view, reduced(view.shape, dims));
        EXPECT_EQ(std::vector<double>(out.values().begin(), out.values().end()), wanted) << dims;
      }
}

TEST(Reduce, SumsAndProductsOfIntegersWrap) {
  Array<std::int64_t> x({50}, std::int64_t{3} << 61), out({1});
  cpu::backend().reduce(ReduceOp::sum, x.view(), out.view());
  EXPECT_EQ(out[0], static_cast<std::int64_t>(std::uint64_t{50} * (std::uint64_t{3} << 61)));
  Array<std::int64_t> threes({50}, 3);
  std::uint64_t power = 1;
  for (int i = 0; i < 50; ++i) power *= 3;
  cpu::backend().reduce(ReduceOp::prod, threes.view(), out.view());
  EXPECT_EQ(out[0], static_cast<std::int64_t>(power));
}

TEST(Reduce, IntegersKeepAllTheirDigits) {
  const std::int64_t big = (std::int64_t{1} << 62) + 1;
  Array<std::int64_t> x({3}, {big, -5, 3}), out({1});
  cpu::backend().reduce(ReduceOp::max, x.view(), out.view());
  EXPECT_EQ(out[0], big);
  cpu::backend().reduce(ReduceOp::sum, x.view(), out.view());
  EXPECT_EQ(out[0], big - 2);
}

TEST(Reduce, GivesTheSameBitsOnAnyNumberOfThreads) {
  Array<float> x = Array<float>::random({70000, 33}, 9);
  const test::ThreadsScope scope;
  std::vector<float> first;
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    std::vector<float> all;
    for (int dims : {1, 2, 3}) {
      Array<float> out(reduced({70000, 33}, dims));
      cpu::backend().reduce(ReduceOp::sum, x.view(), out.view());
      all.insert(all.end(), out.values().begin(), out.values().end());
    }
    if (first.empty()) first = all;
    EXPECT_EQ(all, first) << threads << " threads";
  }
}

TEST(Reduce, RefusesDtypesItHasNoKernelFor) {
  Array<float> x({2});
  View half = x.view();
  half.dtype = DType::f16;
  EXPECT_THROW(cpu::backend().reduce(ReduceOp::sum, half, half), DeviceError);
}

TEST(Argmax, FindsTheFirstOfEqualsAlongEachDimension) {
  Array<float> x({2, 4}, {1, 7, 7, 0, 9, 2, 9, 9});
  Array<std::int64_t> rows({2, 1}), columns({1, 4});
  cpu::backend().arg_reduce(ReduceOp::max, x.view(), 1, rows.view());
  cpu::backend().arg_reduce(ReduceOp::max, x.view(), 0, columns.view());
  EXPECT_EQ(rows.values(), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(columns.values(), (std::vector<std::int64_t>{1, 0, 1, 1}));
}

TEST(Argmax, TakesANanForTheLargest) {
  Array<double> x(
      {4}, {1.0, std::numeric_limits<double>::quiet_NaN(), 5.0, std::numeric_limits<double>::quiet_NaN()});
  Array<std::int64_t> out({1});
  cpu::backend().arg_reduce(ReduceOp::max, x.view(), 0, out.view());
  EXPECT_EQ(out[0], 1);
}

TEST(Argmax, ReadsTransposedIntegers) {
  Array<std::int64_t> x = Array<std::int64_t>::random({30, 50, 4}, 10, -1000, 1000), out({4, 1, 30});
  const View t = test::transposed(x.view(), 0, 2);
  cpu::backend().arg_reduce(ReduceOp::max, t, 1, out.view());
  test::for_each_index({4, 1, 30}, [&](Shape index) {
    const Shape where = index;
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < 50; ++i) {
      Shape a = index, b = index;
      a[1] = i, b[1] = best;
      if (test::at<std::int64_t>(t, a) > test::at<std::int64_t>(t, b)) best = i;
    }
    EXPECT_EQ(test::at<std::int64_t>(out.view(), where), best);
  });
}

}  // namespace
}  // namespace veldt
