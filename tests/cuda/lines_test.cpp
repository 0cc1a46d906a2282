// Ops along a line on the emulated device against the cpu's: softmax, recurrences, sorting, positions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/cuda/both_devices.h"

namespace veldt::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class CudaLines : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_emulated_device(); }
};

void softmaxes(const Both& x, int dim) {
  const DType dtype = x.here.dtype(), wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  for (const DType to : {dtype, wide})
    for (const bool log : {false, true}) {
      const Both out = unwritten(x.here.shape(), to);
      backend(Device{}).softmax(log, x.here.view(), dim, out.here.view());
      backend(kEmulated).softmax(log, x.there.view(), dim, out.there.view());
      expect_same(out, 8, log ? 1 : 0);
    }
}

TEST_F(CudaLines, SoftmaxAgrees) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const Layout layout : all_layouts()) {
      const Both x(numbers({3, 20, 5}, dtype, 1), dtype, layout);
      for (int dim = 0; dim < 3; ++dim) {
        SCOPED_TRACE(testing::Message() << dtype << ", " << name_of(layout) << ", dim " << dim);
        softmaxes(x, dim);
      }
    }
  for (const auto order : kOrders) {
    const InOrder scope(order);
    softmaxes(Both(numbers({3, 3001}, DType::f32, 2), DType::f32), 1);
    softmaxes(Both(numbers({700, 40}, DType::f32, 2), DType::f32), 0);
    softmaxes(Both(numbers({1500, 2}, DType::f64, 2), DType::f64), 1);
  }
}

TEST_F(CudaLines, SoftmaxOfSpecialNumbersAgrees) {
  Values v = numbers({5, 40}, DType::f32, 3);
  v.v[7] = std::nan("");
  v.v[50] = kInfinity;
  for (int i = 80; i < 120; ++i) v.v[static_cast<std::size_t>(i)] = -kInfinity;
  v.v[130] = -kInfinity;
  v.v[170] = 1e30;
  softmaxes(Both(v, DType::f32), 1);
}

void recurs(const Both& x, const Both* factor, int dim, double magnitude, ReduceOp op = ReduceOp::sum) {
  const View here = factor ? factor->here.view() : View{}, there = factor ? factor->there.view() : View{};
  for (const bool reverse : {false, true}) {
    const Both out = unwritten(x.here.shape(), x.here.dtype());
    backend(Device{}).recurrence(op, x.here.view(), factor ? &here : nullptr, dim, reverse, out.here.view());
    backend(kEmulated).recurrence(op, x.there.view(), factor ? &there : nullptr, dim, reverse,
                                  out.there.view());
    expect_same(out, 1, x.here.dtype() == DType::f64 ? magnitude : 1e-6);
  }
}

TEST_F(CudaLines, RecurrenceAgrees) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i64})
    for (const Layout layout : all_layouts()) {
      const Both x(numbers({3, 300, 2}, dtype, 4), dtype, layout);
      Values by = numbers({3, 300, 2}, dtype, 5);
      for (double& f : by.v) f = dtype == DType::i64 ? f : f / 3;
      const Both factor(by, dtype);
      for (int dim = 0; dim < 3; ++dim) {
        SCOPED_TRACE(testing::Message() << dtype << ", " << name_of(layout) << ", dim " << dim);
        recurs(x, nullptr, dim, 100);
        recurs(x, &factor, dim, 100);
        recurs(factor, nullptr, dim, 100, ReduceOp::prod);
      }
    }
}

TEST_F(CudaLines, RunningSumsOfLongLinesAgree) {
  const Both line(numbers({2, 9000}, DType::f64, 6), DType::f64),
      whole(numbers({9000}, DType::i64, 7), DType::i64);
  const Both short_ones(numbers({5000, 100}, DType::i64, 8), DType::i64, Layout::transposed);
  for (const auto order : kOrders) {
    const InOrder scope(order);
    recurs(line, nullptr, 1, 12000);
    recurs(whole, nullptr, 0, 0);
  }
  recurs(short_ones, nullptr, 1, 0);
}

TEST_F(CudaLines, AnInfiniteFactorBeforeTheFirstElementIsNotMet) {
  const Both x({{4}, {0, 1, 0, 0}}, DType::f64), factor({{4}, {kInfinity, 2, 1e300, 1e300}}, DType::f64);
  recurs(x, &factor, 0, 0);
}

void sorts(const Both& x, int dim) {
  for (const bool descending : {false, true}) {
    const Both out = unwritten(x.here.shape(), DType::i64, Layout::transposed);
    backend(Device{}).argsort(x.here.view(), dim, descending, out.here.view());
    backend(kEmulated).argsort(x.there.view(), dim, descending, out.there.view());
    expect_same(out, 0);
  }
}

TEST_F(CudaLines, SortsEveryDtypeStably) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean})
    for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::repeated_first}) {
      Values v = numbers({3, 37, 5}, dtype, 9);
      for (double& x : v.v) x = std::floor(x);  // many are equal
      const Both x(v, dtype, layout);
      for (int dim = 0; dim < 3; ++dim) {
        SCOPED_TRACE(testing::Message() << dtype << ", " << name_of(layout) << ", dim " << dim);
        sorts(x, dim);
      }
    }
}

TEST_F(CudaLines, SortsLinesOfEveryLength) {
  for (const std::int64_t n : {1, 2, 3, 16, 17, 1023, 1024, 1025, 2048, 2049, 3500, 9000}) {
    SCOPED_TRACE(n);
    Values v = numbers({2, n}, DType::f32, 10);
    if (n > 1000) {
      for (double& x : v.v) x = std::floor(4 * x);
      v.v[5] = v.v[900] = v.v[static_cast<std::size_t>(n) - 1] = std::nan("");
      v.v[7] = v.v[901] = kInfinity;
      v.v[8] = v.v[902] = -kInfinity;
      v.v[9] = -0.0;
    }
    sorts(Both(v, DType::f32), 1);
  }
  const Both x(numbers({2500, 2}, DType::i32, 11), DType::i32);
  for (const auto order : kOrders) {
    const InOrder scope(order);
    sorts(x, 0);
  }
}

TEST_F(CudaLines, SortsTheLargestWholeNumbers) {
  const Both x({{6}, {9.2e18, -9223372036854775808.0, 0, -1, 9.2e18, -9223372036854775808.0}}, DType::i64);
  sorts(x, 0);
}

TEST_F(CudaLines, FindsPositions) {
  for (const Shape& shape : {Shape{1}, {16}, {4095}, {4097}, {30001}, {1, 7}, {300, 17}, {90, 1, 5, 2}})
    for (const double share : {0.0, 0.03, 0.6, 1.0}) {
      Rng rng(12);
      const std::int64_t n = numel(shape);
      Values v = uniform(shape, rng, 0, 1);
      std::int64_t held = 0;
      for (double& x : v.v) held += x < share, x = x < share ? 1 : 0;
      const Both mask(v, DType::boolean, Layout::offset);
      for (const std::int64_t room : {held, held / 2, held + 3}) {
        const InOrder scope(kOrders[room % 3]);
        const Both out = unwritten({n + 3, shape.rank()}, DType::i64);  // nothing is written behind the list
        View here = out.here.view(), there = out.there.view();
        here.shape[0] = there.shape[0] = room;
        backend(Device{}).positions(mask.here.view(), here);
        backend(kEmulated).positions(mask.there.view(), there);
        SCOPED_TRACE(testing::Message() << shape << ", " << held << " hold, room for " << room);
        expect_same(out, 0);
      }
    }
}

TEST_F(CudaLines, ReadsHalvesWhereTheyLie) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    Values v = numbers({3, 300, 4}, DType::f32, 13);
    v.v[5] = std::nan("");
    v.v[9] = -0.0;
    v.v[300] = kInfinity;
    const Both x(v, dtype, Layout::transposed);
    for (int dim = 0; dim < 3; ++dim) {
      SCOPED_TRACE(testing::Message() << dtype << ", dim " << dim);
      softmaxes(x, dim);
      recurs(x, nullptr, dim, 1e-6);
      sorts(x, dim);
      for (const auto op : {ReduceOp::max, ReduceOp::min}) {
        Shape kept = x.here.shape();
        kept[dim] = 1;
        const Both out = unwritten(kept, DType::i64);
        backend(Device{}).arg_reduce(op, x.here.view(), dim, out.here.view());
        backend(kEmulated).arg_reduce(op, x.there.view(), dim, out.there.view());
        expect_same(out, 0);
      }
    }
  }
}

TEST_F(CudaLines, GivesTheFirstOfAnOrderAlone) {
  for (const std::int64_t n : {5, 1000, 5000})
    for (const std::int64_t k : {1, 3}) {
      Values v = numbers({2, n}, DType::f64, 14);
      for (double& x : v.v) x = std::floor(x / 8);  // many are equal
      const Both x(v, DType::f64);
      for (const bool descending : {false, true}) {
        const Both out = unwritten({2, k}, DType::i64, Layout::transposed);
        backend(Device{}).argsort(x.here.view(), 1, descending, out.here.view());
        backend(kEmulated).argsort(x.there.view(), 1, descending, out.there.view());
        SCOPED_TRACE(testing::Message() << k << " of " << n);
        expect_same(out, 0);
      }
    }
}

TEST_F(CudaLines, SearchesAmongRisingNumbers) {
  for (const std::int64_t n : {1, 7, 1000}) {
    Values line = numbers({3, n}, DType::f64, 15), values = numbers({3, 500}, DType::f64, 16);
    for (std::int64_t row = 0; row < 3; ++row)
      std::sort(line.v.begin() + row * n, line.v.begin() + (row + 1) * n);
    for (std::size_t i = 0; i < 100; ++i) values.v[i] = line.v[i % static_cast<std::size_t>(n)];
    const Both x(line, DType::f64), at(values, DType::f64), out = unwritten({3, 500}, DType::i64);
    backend(Device{}).search(x.here.view(), at.here.view(), out.here.view());
    backend(kEmulated).search(x.there.view(), at.there.view(), out.there.view());
    expect_same(out, 0);
  }
}

}  // namespace
}  // namespace veldt::test
