// Matrix products on the emulated device against the CPU's: the shapes that take different paths there, and
// the layouts of views.
#include <gtest/gtest.h>

#include "tests/support/emulated_device.h"
#include "tests/support/error_of.h"
#include "tests/support/gpu_emulation.h"
#include "tests/support/layouts.h"
#include "veldt/core/error.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {
namespace {

class CudaMatmul : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_emulated_device(); }
  ~CudaMatmul() override { gpu::emulation::set_order(gpu::emulation::Order::forward); }
};

// What the product is made of: layouts of the operands and the result, and the strides of the bias.
struct Form {
  Layout a = Layout::contiguous, b = Layout::contiguous, out = Layout::contiguous;
  const char* bias = "none";  // or "row", "column", "full"
};

Tensor bias_of(const Shape& out, const std::string& kind, DType dtype) {
  if (kind == "none") return {};
  Shape shape = out;
  if (kind == "row") shape[0] = shape[1] = 1;
  if (kind == "column") shape[0] = shape[2] = 1;
  Rng rng(7);
  const Tensor base = write(uniform(shape, rng), dtype);
  Strides strides = base.strides();
  for (int d = 0; d < 3; ++d)
    if (shape[d] == 1) strides[d] = 0;
  return base.alias(out, strides, 0);
}

void expect_product(const Shape& a_shape, std::int64_t n, DType dtype, const Form& form) {
  Rng rng(3);
  const Shape b_shape{a_shape[0], a_shape[2], n}, out_shape{a_shape[0], a_shape[1], n};
  const Tensor a = lay_out(uniform(a_shape, rng), dtype, form.a);
  const Tensor b = lay_out(uniform(b_shape, rng), dtype, form.b), bias = bias_of(out_shape, form.bias, dtype);
  const Tensor out = lay_out(uniform(out_shape, rng), dtype, form.out), there = onto_device(out);
  const Tensor a2 = onto_device(a), b2 = onto_device(b);
  const Tensor bias2 = bias.defined() ? onto_device(bias) : bias;
  const View here_bias = bias.defined() ? bias.view() : View{};
  const View there_bias = bias.defined() ? bias2.view() : View{};
  backend(Device{}).matmul(a.view(), b.view(), bias.defined() ? &here_bias : nullptr, out.view(), nullptr);
  backend(kEmulated).matmul(a2.view(), b2.view(), bias.defined() ? &there_bias : nullptr, there.view(),
                            nullptr);
  const Tensor got = from_device(there);
  ASSERT_EQ(gpu::emulation::take_fault(), "");
  const Values wanted = read(out), found = read(got);
  // Either may lose an ulp of a sum with each addition; a term that is missing is a million times as much.
  const double tolerance = (dtype == DType::f32 ? 6e-8 : 1.2e-16) * (16 + static_cast<double>(a_shape[2]));
  for (std::size_t i = 0; i < wanted.v.size(); ++i)
    ASSERT_NEAR(found.v[i], wanted.v[i], tolerance)
        << a_shape << " x " << b_shape << ", " << dtype << ", a " << name_of(form.a) << ", b "
        << name_of(form.b) << ", out " << name_of(form.out) << ", bias " << form.bias << ", element " << i;
}

void expect_products(const Shape& a, std::int64_t n, const Form& form) {
  for (const DType dtype : {DType::f32, DType::f64}) expect_product(a, n, dtype, form);
}

TEST_F(CudaMatmul, AgreesWithTheCpuForEdgesOfTiles) {
  for (const std::int64_t m : {1, 15, 17, 64, 130})
    for (const std::int64_t n : {1, 3, 16, 17, 64, 65})
      for (const std::int64_t k : {0, 1, 4, 16, 35}) expect_products({1, m, k}, n, {});
}

TEST_F(CudaMatmul, ReadsOperandsOfAnyStrides) {
  for (const Layout a : all_layouts())
    for (const Layout b : all_layouts()) {
      expect_products({2, 20, 24}, 28, {.a = a, .b = b});
      expect_products({1, 5, 18}, 3, {.a = a, .b = b, .bias = "row"});
    }
}

TEST_F(CudaMatmul, WritesResultsOfAnyStrides) {
  for (const Layout out : own_memory_layouts())
    for (const char* bias : {"none", "row", "column", "full"}) {
      expect_products({2, 21, 9}, 20, {.out = out, .bias = bias});
      expect_products({2, 3, 9}, 30, {.out = out, .bias = bias});
      expect_products({1, 6, 520}, 20, {.out = out, .bias = bias});
    }
}

TEST_F(CudaMatmul, TakesBatchesThatShareAnOperand) {
  for (const char* bias : {"none", "row", "column"}) {
    expect_products({3, 20, 7}, 19, {.b = Layout::repeated_first, .bias = bias});
    expect_products({3, 20, 7}, 19, {.a = Layout::repeated_first, .bias = bias});
  }
}

TEST_F(CudaMatmul, CutsLongSumsInAFixedWay) {
  for (const std::int64_t k : {511, 512, 1500, 3000}) expect_products({1, 33, k}, 20, {.bias = "row"});
  expect_products({2, 9, 3000}, 18, {.a = Layout::transposed});
  expect_products({1, 3, 3000}, 40, {.a = Layout::transposed, .bias = "column"});
}

TEST_F(CudaMatmul, NeedsNoOrderOfItsThreads) {
  using gpu::emulation::Order;
  for (const Order order : {Order::reverse, Order::shuffled}) {
    gpu::emulation::set_order(order);
    expect_products({2, 140, 40}, 70, {.bias = "row"});
    expect_products({1, 40, 1300}, 5, {.b = Layout::transposed});
  }
}

TEST_F(CudaMatmul, RefusesOtherDtypes) {
  const Tensor x = onto_device(write({{1, 2, 2}, {1, 2, 3, 4}}, DType::i64));
  const std::string said = error_of<DeviceError>(
      [&] { backend(kEmulated).matmul(x.view(), x.view(), nullptr, x.view(), nullptr); });
  EXPECT_NE(said.find("cuda cannot multiply matrices of i64"), std::string::npos) << said;
}

}  // namespace
}  // namespace veldt::test
