// Batch norms on the emulated device against the cpu's: short and long runs, one piece and many, halves.
#include "tests/cuda/both_devices.h"

namespace veldt::test {
namespace {

class CudaBatchNorm : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_emulated_device(); }
};

void norms(const Shape& shape, DType dtype, bool affine) {
  SCOPED_TRACE(testing::Message() << shape << ' ' << dtype << (affine ? "" : ", not affine"));
  const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  const Shape list = {shape[1]};
  const Both x(numbers(shape, dtype, 1), dtype), g(numbers(shape, dtype, 2), dtype);
  const Both weight(numbers(list, wide, 3), wide), bias(numbers(list, wide, 4), wide);
  const Both moments = unwritten({2, shape[1]}, wide), y = unwritten(shape, dtype),
             dx = unwritten(shape, dtype);
  const Both dweight = unwritten(list, wide), dbias = unwritten(list, wide);
  const auto each = [&](const Backend& b, auto of) {
    const View w = of(weight).view(), add = of(bias).view(), by_w = of(dweight).view(),
               by_b = of(dbias).view();
    b.batch_norm(1e-3, of(x).view(), affine ? &w : nullptr, affine ? &add : nullptr, of(moments).view(),
                 of(y).view());
    b.batch_norm_slope(1e-3, of(x).view(), affine ? &w : nullptr, of(moments).view(), of(g).view(),
                       of(dx).view(), affine ? &by_w : nullptr, affine ? &by_b : nullptr);
  };
  each(backend(Device{}), [](const Both& b) -> const Tensor& { return b.here; });
  each(backend(kEmulated), [](const Both& b) -> const Tensor& { return b.there; });
  const double sums = dtype == DType::f64 ? 64 : 1;  // f32's sums are of doubles
  expect_same(moments, 4 * sums, 1);
  expect_same(y, 8 * sums, 4);
  expect_same(dx, 16 * sums, 4);
  if (!affine) return;
  const double count = static_cast<double>(shape[0] * shape[2]);
  expect_same(dweight, 8, count);
  expect_same(dbias, 4, count);
}

TEST_F(CudaBatchNorm, Agrees) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16})
    for (const Shape& shape : {Shape{2, 1, 1}, Shape{70, 5, 1}, Shape{3, 4, 9}, Shape{2, 3, 700}})
      for (const bool affine : {true, false}) norms(shape, dtype, affine);
  for (const auto order : kOrders) {
    const InOrder scope(order);
    norms({3, 2, 3000}, DType::f32, true);  // two pieces a channel
    norms({9000, 2, 1}, DType::f64, true);
  }
}

}  // namespace
}  // namespace veldt::test
