// Reductions on the emulated device against the cpu's: every dtype and op, every way to cut them.
#include <cmath>
#include <limits>

#include "tests/cuda/both_devices.h"
#include "veldt/core/error.h"

namespace veldt::test {
namespace {

constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::mean, ReduceOp::prod, ReduceOp::max, ReduceOp::min};

class CudaReduce : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_emulated_device(); }

  // Along the dimensions whose bits are set.
  static void reduces(ReduceOp op, const Both& x, unsigned along, DType to,
                      Layout layout = Layout::contiguous) {
    Shape shape = x.here.shape();
    for (int d = 0; d < shape.rank(); ++d)
      if ((along >> d & 1u) != 0) shape[d] = 1;
    const Both out = unwritten(shape, to, layout);
    backend(Device{}).reduce(op, x.here.view(), out.here.view());
    backend(kEmulated).reduce(op, x.there.view(), out.there.view());
    const double terms = static_cast<double>(x.here.numel()) / static_cast<double>(numel(shape));
    const bool adds = op == ReduceOp::sum || op == ReduceOp::mean;
    // f32 is added in f64; a product is off by an ulp each time.
    const double ulps = adds ? 1 : op == ReduceOp::prod ? (to == DType::f64 ? terms : 1) : 0;
    expect_same(out, ulps, to == DType::f64 && op == ReduceOp::sum ? terms : 0);
  }
};

TEST_F(CudaReduce, AgreesInEveryDtype) {
  using enum DType;
  constexpr DType kPairs[][2] = {{f32, f32},     {f64, f64}, {bf16, f32},       {bf16, f64}, {f16, f32},
                                 {f16, f64},     {i64, i64}, {i32, i64},        {i32, i32},  {u8, i64},
                                 {boolean, i64}, {u8, u8},   {boolean, boolean}};
  for (const auto& [from, to] : kPairs) {
    const Both rows(numbers({3, 45}, from, 1), from), columns(numbers({45, 3}, from, 2), from);
    for (const ReduceOp op : kOps) {
      if ((op == ReduceOp::sum && size_of(to) == 1) || (op == ReduceOp::mean && !is_float(to))) continue;
      SCOPED_TRACE(testing::Message() << from << " into " << to << ", op " << static_cast<int>(op));
      reduces(op, rows, 2, to);
      reduces(op, columns, 1, to);
      reduces(op, rows, 3, to);
    }
  }
}

TEST_F(CudaReduce, AgreesForAllAxesAndLayouts) {
  for (const DType dtype : {DType::f32, DType::i32})
    for (const Layout layout :
         {Layout::contiguous, Layout::transposed, Layout::padded, Layout::repeated_last}) {
      const Both x(numbers({3, 9, 2, 7}, dtype, 3), dtype, layout);
      for (unsigned along = 0; along < 16; ++along) {
        SCOPED_TRACE(testing::Message() << dtype << ", " << name_of(layout) << ", axes " << along);
        reduces(ReduceOp::sum, x, along, dtype);
        reduces(ReduceOp::max, x, along, dtype, Layout::transposed);
      }
    }
}

TEST_F(CudaReduce, CutsLongLinesInEveryOrderOfThreads) {
  const Both line(numbers({1, 70001}, DType::f32, 4), DType::f32),
      bytes(numbers({40000}, DType::u8, 4), DType::u8);
  const Both columns(numbers({5003, 5}, DType::f64, 5), DType::f64);
  const Both wide(numbers({2500, 70}, DType::f32, 6), DType::f32, Layout::padded);
  const Both middle(numbers({9, 2000, 3}, DType::i64, 7), DType::i64);
  for (const auto order : kOrders) {
    const InOrder scope(order);
    SCOPED_TRACE(static_cast<int>(order));
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
      reduces(op, line, 3, DType::f32);
      reduces(op, bytes, 1, DType::i64);
      reduces(op, columns, 1, DType::f64);
      reduces(op, wide, 1, DType::f32);
      reduces(op, middle, 2, DType::i64);
      reduces(op, middle, 5, DType::i64);
    }
  }
}

TEST_F(CudaReduce, TakesLinesOfEveryLength) {
  for (std::int64_t n = 1; n <= 300; n += n < 40 ? 1 : 37) {
    const Both rows(numbers({5, n}, DType::f32, 8), DType::f32),
        columns(numbers({n, 5}, DType::f32, 9), DType::f32);
    SCOPED_TRACE(n);
    reduces(ReduceOp::sum, rows, 2, DType::f32);
    reduces(ReduceOp::sum, columns, 1, DType::f32);
  }
  reduces(ReduceOp::mean, Both(numbers({6000, 3}, DType::f32, 10), DType::f32), 2, DType::f32);
  reduces(ReduceOp::mean, Both(numbers({3, 6000}, DType::f32, 10), DType::f32), 1, DType::f32);
}

TEST_F(CudaReduce, GivesWhatNothingReducesTo) {
  const Both x(Values{{3, 0}, {}}, DType::f32);
  for (const ReduceOp op : kOps) reduces(op, x, 2, DType::f32);
  reduces(ReduceOp::sum, x, 1, DType::f32);
}

TEST_F(CudaReduce, LetsANanWin) {
  Values v = numbers({4, 70}, DType::f64, 11);
  v.v[3] = v.v[141] = v.v[209] = std::nan("");
  const Both x(v, DType::f64);
  for (const ReduceOp op : kOps) reduces(op, x, 2, DType::f64);
}

TEST_F(CudaReduce, AddsFloatsInDoubles) {
  Values v = build({1 << 14}, [](const Shape&) { return 1e-4; });
  v.v[5] = 1e5;
  reduces(ReduceOp::sum, Both(v, DType::f32), 1, DType::f32);
}

TEST_F(CudaReduce, RefusesHalves) {
  const Both x(numbers({4}, DType::f32, 1), DType::bf16), out = unwritten({1}, DType::bf16);
  EXPECT_THROW(backend(kEmulated).reduce(ReduceOp::sum, x.there.view(), out.there.view()), DeviceError);
}

void find_extremes(const Both& x, int dim) {
  for (const ReduceOp op : {ReduceOp::max, ReduceOp::min}) {
    Shape shape = x.here.shape();
    shape[dim] = 1;
    const Both out = unwritten(shape, DType::i64);
    backend(Device{}).arg_reduce(op, x.here.view(), dim, out.here.view());
    backend(kEmulated).arg_reduce(op, x.there.view(), dim, out.there.view());
    expect_same(out, 0);
  }
}

TEST_F(CudaReduce, FindsTheFirstExtreme) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean})
    for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::repeated_last}) {
      Values v = numbers({3, 50, 4}, dtype, 12);
      for (double& x : v.v) x = std::floor(x);  // many are equal
      const Both x(v, dtype, layout);
      for (int dim = 0; dim < 3; ++dim) {
        SCOPED_TRACE(testing::Message() << dtype << ", " << name_of(layout) << ", dim " << dim);
        find_extremes(x, dim);
      }
    }
}

TEST_F(CudaReduce, FindsExtremesOfLongLinesAndNans) {
  Values v = numbers({2, 20000}, DType::f32, 13);
  v.v[16000] = v.v[19000] = std::nan("");
  v.v[30000] = v.v[30003] = -std::numeric_limits<double>::infinity();
  v.v[35000] = v.v[35001] = std::numeric_limits<double>::infinity();
  const Both x(v, DType::f32);
  for (const auto order : kOrders) {
    const InOrder scope(order);
    find_extremes(x, 1);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  find_extremes(Both({{1, 3}, {-infinity, -infinity, -infinity}}, DType::f64), 1);
  find_extremes(Both({{1, 3}, {0.0, -0.0, 0.0}}, DType::f64), 1);
}

TEST_F(CudaReduce, FindsTheRangeOfAnIndex) {
  for (const Layout layout : all_layouts()) {
    const Both x(numbers({30, 170}, DType::i64, 14), DType::i64, layout);
    std::int64_t low[2] = {5, 5}, high[2] = {5, 5};
    backend(Device{}).index_range(x.here.view(), &low[0], &high[0]);
    backend(kEmulated).index_range(x.there.view(), &low[1], &high[1]);
    EXPECT_EQ(low[0], low[1]) << name_of(layout);
    EXPECT_EQ(high[0], high[1]) << name_of(layout);
  }
  std::int64_t low = 5, high = 5;
  backend(kEmulated).index_range(Both(Values{{0}, {}}, DType::i64).there.view(), &low, &high);
  EXPECT_EQ(low, 0);
  EXPECT_EQ(high, -1);
}

TEST_F(CudaReduce, MultipliesArrays) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const std::int64_t n : {0, 1, 255, 4097, 20001}) {
      const Both a(numbers({n}, dtype, 15), dtype), b(numbers({n}, dtype, 16), dtype, Layout::offset);
      const double expected = backend(Device{}).dot(a.here.view(), b.here.view());
      for (const auto order : kOrders) {
        const InOrder scope(order);
        const double got = backend(kEmulated).dot(a.there.view(), b.there.view());
        EXPECT_NEAR(got, expected, 1e-15 * static_cast<double>(n)) << dtype << ", " << n;
      }
    }
}

}  // namespace
}  // namespace veldt::test
