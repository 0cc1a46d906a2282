// Matrix products on the emulated device against the CPU's: the shapes that take different paths there, and
// the layouts of views.
#include <gtest/gtest.h>

#include "tests/support/cublas_emulation.h"
#include "tests/support/device_under_test.h"
#include "tests/support/emulated_device.h"
#include "tests/support/error_of.h"
#include "tests/support/gpu_emulation.h"
#include "tests/support/layouts.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {
namespace {

class CudaMatmul : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_emulated_device(); }
  ~CudaMatmul() override { gpu::emulation::set_order(gpu::emulation::Order::forward); }
};

// Large products, and those of halves, are cublasLt's.
class CudaMatmulLt : public CudaMatmul {
 protected:
  ~CudaMatmulLt() override { gpu::emulation::set_cublas(gpu::emulation::Cublas::works); }
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

// On the cpu, which computes halves as f32.
void multiply_here(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out) {
  const auto wide = [](const Tensor& t) { return is_half(t.dtype()) ? to(t, DType::f32) : t; };
  const Tensor wide_a = wide(a), wide_b = wide(b), result = wide(out);
  const Tensor wide_bias = bias.defined() ? wide(bias) : bias;
  const View bias_view = bias.defined() ? wide_bias.view() : View{};
  backend(Device{}).matmul(wide_a.view(), wide_b.view(), bias.defined() ? &bias_view : nullptr,
                           result.view());
  if (is_half(out.dtype())) backend(Device{}).copy(result.view(), out.view());
}

void expect_product(const Shape& a_shape, std::int64_t n, DType dtype, const Form& form) {
  Rng rng(3);
  const Shape b_shape{a_shape[0], a_shape[2], n}, out_shape{a_shape[0], a_shape[1], n};
  const Tensor a = lay_out(uniform(a_shape, rng), dtype, form.a);
  const Tensor b = lay_out(uniform(b_shape, rng), dtype, form.b), bias = bias_of(out_shape, form.bias, dtype);
  const Tensor out = lay_out(uniform(out_shape, rng), dtype, form.out), there = onto_device(out);
  const Tensor a2 = onto_device(a), b2 = onto_device(b);
  const Tensor bias2 = bias.defined() ? onto_device(bias) : bias;
  const View there_bias = bias.defined() ? bias2.view() : View{};
  multiply_here(a, b, bias, out);
  backend(kEmulated).matmul(a2.view(), b2.view(), bias.defined() ? &there_bias : nullptr, there.view());
  const Tensor got = from_device(there);
  ASSERT_EQ(gpu::emulation::take_fault(), "");
  const Values wanted = read(out), found = read(got);
  // Either may lose an ulp of a sum with each addition; a term that is missing is a million times as much.
  // Halves are rounded once more, and here they are computed as f32.
  const double terms = 16 + static_cast<double>(a_shape[2]);
  const double rounding = dtype == DType::bf16 ? 1.0 / 256 : dtype == DType::f16 ? 1.0 / 2048 : 0;
  const double tolerance = (dtype == DType::f64 ? 1.2e-16 : 6e-8) * terms + rounding * std::sqrt(terms);
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
  const std::string said =
      error_of<DeviceError>([&] { backend(kEmulated).matmul(x.view(), x.view(), nullptr, x.view()); });
  EXPECT_NE(said.find("there is no kernel of matmul for i64 on cuda"), std::string::npos) << said;
  const Tensor large = onto_device(write({{1, 512, 512}, std::vector<double>(512 * 512)}, DType::i64));
  EXPECT_NE(error_of<DeviceError>([&] {
              backend(kEmulated).matmul(large.view(), large.view(), nullptr, large.view());
            }).find("matmul for i64"),
            std::string::npos);
}

using gpu::emulation::Cublas;

int products_of_library() { return gpu::emulation::take_cublas_counts().products; }

TEST_F(CudaMatmulLt, MultipliesWhatIsLarge) {
  products_of_library();
  if (on_real_gpu()) GTEST_SKIP() << "needs the emulated library, which counts";
  expect_products({1, 128, 256}, 120, {});
  EXPECT_EQ(products_of_library(), 0);
  expect_products({1, 128, 256}, 128, {});
  EXPECT_EQ(products_of_library(), 2);
}

TEST_F(CudaMatmulLt, ReadsTransposesBatchesAndEveryBias) {
  products_of_library();
  for (const Layout a : {Layout::contiguous, Layout::transposed})
    for (const Layout b : {Layout::contiguous, Layout::transposed})
      for (const Layout out : {Layout::contiguous, Layout::transposed})
        expect_product({1, 256, 512}, 256, DType::f32, {.a = a, .b = b, .out = out, .bias = "row"});
  for (const char* bias : {"none", "column", "full"})
    expect_product({2, 128, 512}, 256, DType::f64, {.bias = bias});
  expect_product({2, 128, 512}, 256, DType::f32, {.a = Layout::repeated_first, .bias = "row"});
  expect_product({2, 128, 512}, 256, DType::f32, {.b = Layout::repeated_first, .bias = "row"});
  if (!on_real_gpu()) {
    EXPECT_EQ(products_of_library(), 13);
  }
}

TEST_F(CudaMatmulLt, LeavesViewsThatAreNoMatricesToTheTiles) {
  products_of_library();
  expect_product({1, 512, 256}, 256, DType::f32, {.a = Layout::stepped, .bias = "row"});
  expect_product({1, 512, 256}, 256, DType::f32, {.out = Layout::stepped, .bias = "row"});
  EXPECT_EQ(products_of_library(), 0);  // those of a GPU are not counted
  expect_product({1, 512, 256}, 256, DType::f64,
                 {.a = Layout::padded, .b = Layout::padded, .out = Layout::padded});
}

TEST_F(CudaMatmulLt, MultipliesHalvesOfAnySizeAndStrides) {
  if (!backend(kEmulated).multiplies(DType::bf16, 64, 64)) GTEST_SKIP() << "there is no cublasLt";
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const std::int64_t m : {1, 17})
      for (const std::int64_t n : {1, 40})
        for (const std::int64_t k : {0, 1, 9, 300})
          for (const char* bias : {"none", "row", "column", "full"})
            expect_product({2, m, k}, n, dtype, {.bias = bias});
    for (const Layout a : all_layouts())
      for (const Layout b : all_layouts())
        expect_product({2, 6, 10}, 7, dtype, {.a = a, .b = b, .bias = "row"});
    for (const Layout out : own_memory_layouts())
      expect_product({2, 6, 10}, 7, dtype, {.out = out, .bias = "full"});
  }
}

TEST_F(CudaMatmulLt, ChoosesAnAlgorithmOnceForEachForm) {
  if (on_real_gpu()) GTEST_SKIP() << "needs the emulated library";
  gpu::emulation::take_cublas_counts();
  for (int i = 0; i < 3; ++i) expect_product({1, 23, 11}, 13, DType::bf16, {.bias = "row"});
  const gpu::emulation::CublasCounts counts = gpu::emulation::take_cublas_counts();
  EXPECT_EQ(counts.products, 3);
  EXPECT_EQ(counts.choices, 1);
}

TEST_F(CudaMatmulLt, AsksForLessWhereNumbersLieUnaligned) {
  if (!backend(kEmulated).multiplies(DType::bf16, 64, 64)) GTEST_SKIP() << "there is no cublasLt";
  expect_product({1, 16, 16}, 16, DType::bf16, {.bias = "row"});
  for (const Layout layout : {Layout::offset, Layout::padded})  // after it, of the same sizes
    expect_product({1, 16, 16}, 16, DType::bf16, {.a = layout, .b = layout, .out = layout, .bias = "row"});
  // A bias that begins in the middle of a storage.
  Rng rng(5);
  const Tensor list = write(uniform({9}, rng), DType::bf16);
  const Tensor zero = write({{1, 4, 8}, std::vector<double>(32)}, DType::bf16);
  const Tensor b = onto_device(write(uniform({1, 8, 8}, rng), DType::bf16));
  const Tensor there = onto_device(list), a = onto_device(zero), out = onto_device(zero);
  for (const std::int64_t begin : {0, 1}) {
    const View bias = there.alias({1, 4, 8}, {0, 0, 1}, begin).view();
    backend(kEmulated).matmul(a.view(), b.view(), &bias, out.view());
    EXPECT_EQ(read(select(from_device(out), 1, 2)).v, read(list.alias({1, 8}, {0, 1}, begin)).v);
  }
  EXPECT_EQ(gpu::emulation::take_fault(), "");
}

// Two halves of a sum that are beyond f16, and cancel.
TEST_F(CudaMatmulLt, RoundsNoPartOfASum) {
  if (!backend(kEmulated).multiplies(DType::bf16, 64, 64)) GTEST_SKIP() << "there is no cublasLt";
  Values row{{1, 1, 64}, std::vector<double>(64, 50)}, column{{1, 64, 1}, std::vector<double>(64, 50)};
  for (std::size_t i = 32; i < 64; ++i) column.v[i] = -50;
  const Tensor a = onto_device(write(row, DType::f16)), b = onto_device(write(column, DType::f16));
  const Tensor out = onto_device(write({{1, 1, 1}, {1}}, DType::f16));
  backend(kEmulated).matmul(a.view(), b.view(), nullptr, out.view());
  EXPECT_EQ(read(from_device(out)).v, std::vector<double>{0});
}

TEST_F(CudaMatmulLt, MakesRoomForTheLibrary) {
  if (on_real_gpu()) GTEST_SKIP() << "needs the emulated library";
  gpu::emulation::set_cublas(Cublas::full_once);
  products_of_library();
  expect_product({1, 29, 12}, 14, DType::bf16, {.bias = "row"});
  EXPECT_EQ(products_of_library(), 1);
}

TEST_F(CudaMatmulLt, AddsABiasBeforehandWhereTheLibraryCannot) {
  if (on_real_gpu()) GTEST_SKIP() << "needs the emulated library";
  gpu::emulation::set_cublas(Cublas::adds_no_bias);
  products_of_library();
  expect_product({1, 21, 12}, 14, DType::bf16, {.bias = "row"});
  EXPECT_EQ(products_of_library(), 1);
}

TEST_F(CudaMatmulLt, IsNotNeeded) {
  if (on_real_gpu()) GTEST_SKIP() << "needs the emulated library";
  gpu::emulation::set_cublas(Cublas::missing);
  products_of_library();
  expect_product({1, 256, 512}, 256, DType::f32, {.bias = "row"});
  EXPECT_EQ(products_of_library(), 0);
  EXPECT_FALSE(backend(kEmulated).multiplies(DType::bf16, 64, 64));
  EXPECT_TRUE(backend(kEmulated).multiplies(DType::f64, 64, 64));
  const Tensor x = onto_device(write({{2, 2}, {1, 2, 3, 4}}, DType::bf16));
  EXPECT_EQ(read(from_device(matmul(x, x))).v, (std::vector<double>{7, 10, 15, 22}));
}

TEST_F(CudaMatmulLt, SaysWhatItCannotDo) {
  if (on_real_gpu()) GTEST_SKIP() << "needs the emulated library";
  const Tensor x = onto_device(write({{1, 2, 3}, {1, 2, 3, 4, 5, 6}}, DType::f16));
  const Tensor y = onto_device(write({{1, 3, 2}, {1, 2, 3, 4, 5, 6}}, DType::f16));
  const Tensor out = onto_device(write({{1, 2, 2}, {0, 0, 0, 0}}, DType::f16));
  const auto product = [&] { backend(kEmulated).matmul(x.view(), y.view(), nullptr, out.view()); };
  gpu::emulation::set_cublas(Cublas::fails);
  std::string said = error_of<DeviceError>(product);
  EXPECT_NE(said.find("cannot multiply matrices on the GPU"), std::string::npos) << said;
  EXPECT_NE(said.find("CUBLAS_STATUS_EXECUTION_FAILED"), std::string::npos) << said;
  gpu::emulation::set_cublas(Cublas::works);
  product();
  EXPECT_EQ(read(from_device(out)).v, (std::vector<double>{22, 28, 49, 64}));
}

TEST_F(CudaMatmulLt, LeavesToTheTilesWhatTheLibraryHasNoKernelFor) {
  if (on_real_gpu()) GTEST_SKIP() << "needs the emulated library";
  gpu::emulation::set_cublas(Cublas::refuses);
  expect_product({1, 264, 512}, 256, DType::f32, {.bias = "row"});
  const Tensor x = onto_device(write({{1, 1, 1}, {2}}, DType::f16));
  const std::string said =
      error_of<DeviceError>([&] { backend(kEmulated).matmul(x.view(), x.view(), nullptr, x.view()); });
  EXPECT_NE(said.find("cuda cannot multiply [1, 1, 1] by [1, 1, 1] of f16"), std::string::npos) << said;
}

}  // namespace
}  // namespace veldt::test
