// Gather, scatter-add and index ranges against plain loops.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/views.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"

namespace veldt {
namespace {
using test::Array;

Shape pointing(Shape index, int dim, std::int64_t target) {
  index[dim] = target;
  return index;
}

template <class T> void expect_gathers(const View& x, int dim, const View& index) {
  Array<T> out(index.shape);
  const View view = out.view();
  cpu::backend().gather(x, dim, index, view);
  using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
  test::for_each_index(index.shape, [&](const Shape& i) {
    const std::int64_t target = test::at<std::int64_t>(index, i);
    ASSERT_EQ(test::at<Stored>(view, i), test::at<Stored>(x, pointing(i, dim, target)))
        << x.shape << " at " << i;
  });
}

template <class T> void expect_scatters(const View& g, int dim, const View& index, const Shape& table) {
  Array<T> out(table, T(0.5)), wanted(table, T(0.5));
  cpu::backend().scatter_add(g, dim, index, out.view());
  const View view = wanted.view();
  test::for_each_index(index.shape, [&](const Shape& i) {
    test::at<T>(view, pointing(i, dim, test::at<std::int64_t>(index, i))) += test::at<T>(g, i);
  });
  EXPECT_EQ(out.values(), wanted.values()) << table << " from " << index.shape << " along " << dim;
}

TEST(Gather, PicksAlongEachDimension) {
  Array<float> x = Array<float>::random({5, 6, 7}, 1);
  for (int dim = 0; dim < 3; ++dim) {
    Shape shape{5, 6, 7};
    shape[dim] = 11;
    Array<std::int64_t> index = Array<std::int64_t>::random(shape, 2, 0, static_cast<double>(5 + dim));
    expect_gathers<float>(x.view(), dim, index.view());
    Shape swapped{7, 6, 5};
    swapped[dim] = 4;
    Array<std::int64_t> other = Array<std::int64_t>::random(swapped, 3, 0, static_cast<double>(swapped[dim]));
    expect_gathers<float>(test::transposed(x.view(), 0, 2), dim, other.view());
  }
}

TEST(Gather, MovesWholeRowsOfEveryDtype) {
  Array<std::int64_t> index = Array<std::int64_t>::random({300, 1}, 4, 0, 50);
  for (std::int64_t columns : {1, 2, 16, 17, 100}) {
    const View rows = test::repeated(index.view(), 1, columns);
    Array<float> f = Array<float>::random({50, columns}, 5);
    Array<double> d = Array<double>::random({50, columns}, 6);
    Array<std::int64_t> i = Array<std::int64_t>::random({50, columns}, 7, 0, 1000);
    Array<std::uint8_t> u = Array<std::uint8_t>::random({50, columns}, 8, 0, 255);
    Array<bool> b = Array<bool>::random({50, columns}, 9, 0, 2);
    expect_gathers<float>(f.view(), 0, rows);
    expect_gathers<double>(d.view(), 0, rows);
    expect_gathers<std::int64_t>(i.view(), 0, rows);
    expect_gathers<std::uint8_t>(u.view(), 0, rows);
    expect_gathers<bool>(b.view(), 0, rows);
  }
}

TEST(Gather, ReadsRowsOfAViewWithGaps) {
  Array<float> x = Array<float>::random({50, 3, 20}, 10);
  Array<std::int64_t> index = Array<std::int64_t>::random({70, 1, 1}, 11, 0, 50);
  const View rows = test::repeated(test::repeated(index.view(), 1, 3), 2, 8);
  expect_gathers<float>(test::sliced<float>(x.view(), 2, 5, 8), 0, rows);
  expect_gathers<float>(test::sliced<float>(x.view(), 2, 1, 8, 2), 0, rows);
}

TEST(Gather, OfNoIndicesDoesNothing) {
  Array<float> x({3, 2}), out({0, 2});
  Array<std::int64_t> index({0, 2});
  cpu::backend().gather(x.view(), 0, index.view(), out.view());
  cpu::backend().scatter_add(out.view(), 0, index.view(), x.view());
  EXPECT_EQ(x.values(), std::vector<float>(6, 0.0f));
}

TEST(ScatterAdd, RefusesDtypesItHasNoKernelFor) {
  Array<float> x({2});
  Array<std::int64_t> index({2});
  View half = x.view();
  half.dtype = DType::bf16;
  EXPECT_THROW(cpu::backend().scatter_add(half, 0, index.view(), half), DeviceError);
}

TEST(ScatterAdd, AddsInTheOrderOfTheIndexAlongEachDimension) {
  for (int dim = 0; dim < 3; ++dim) {
    Shape shape{5, 6, 7};
    shape[dim] = 23;
    Array<float> g = Array<float>::random(shape, 12);
    Array<double> g64 = Array<double>::random(shape, 13);
    Array<std::int64_t> index = Array<std::int64_t>::random(shape, 14, 0, 4);
    expect_scatters<float>(g.view(), dim, index.view(), {5, 6, 7});
    expect_scatters<double>(g64.view(), dim, index.view(), {5, 6, 7});
  }
}

TEST(ScatterAdd, SharesOutTheTargetsOfRowsAndGivesTheSameBits) {
  const test::ThreadsScope scope;
  Array<std::int64_t> index = Array<std::int64_t>::random({20000, 1}, 15, 0, 100);
  for (std::int64_t columns : {1, 2, 9}) {
    Array<float> g = Array<float>::random({20000, columns}, 16);
    for (int threads : {1, 2, 3}) {
      set_num_threads(threads);
      expect_scatters<float>(g.view(), 0, test::repeated(index.view(), 1, columns), {100, columns});
    }
  }
}

TEST(ScatterAdd, IsTheGradientOfPickingOneOfEachRow) {
  Array<float> g = Array<float>::random({3000, 1}, 17);
  Array<std::int64_t> index = Array<std::int64_t>::random({3000, 1}, 18, 0, 10);
  expect_scatters<float>(g.view(), 1, index.view(), {3000, 10});
}

TEST(IndexRange, FindsTheSmallestAndTheLargest) {
  Array<std::int64_t> index = Array<std::int64_t>::random({300, 70}, 19, 0, 1000);
  index[12345] = -7;
  index[20999] = 5000;
  std::int64_t low = 0, high = 0;
  cpu::backend().index_range(index.view(), &low, &high);
  EXPECT_EQ(low, -7);
  EXPECT_EQ(high, 5000);
  cpu::backend().index_range(test::transposed(index.view(), 0, 1), &low, &high);
  EXPECT_EQ(low, -7);
  EXPECT_EQ(high, 5000);
}

TEST(IndexRange, LooksOnlyAtWhatTheViewShows) {
  Array<std::int64_t> index({4, 3}, {9, 1, 9, 9, 5, 9, 9, 3, 9, 9, -2, 9});
  std::int64_t low = 0, high = 0;
  const View column = test::sliced<std::int64_t>(test::sliced<std::int64_t>(index.view(), 1, 1, 1), 0, 0, 3);
  cpu::backend().index_range(test::repeated(column, 1, 100), &low, &high);
  EXPECT_EQ(low, 1);
  EXPECT_EQ(high, 5);
}

TEST(IndexRange, OfNothingIsEmpty) {
  Array<std::int64_t> index({0, 3});
  std::int64_t low = 5, high = 5;
  cpu::backend().index_range(index.view(), &low, &high);
  EXPECT_EQ(low, 0);
  EXPECT_EQ(high, -1);
}

}  // namespace
}  // namespace veldt
