// Convolutions on the emulated device against the CPU's: the edges of tiles, sums that are cut, and the order
// of threads. The op table has the rest.
#include <gtest/gtest.h>

#include "tests/support/emulated_device.h"
#include "tests/support/error_of.h"
#include "tests/support/gpu_emulation.h"
#include "tests/support/layouts.h"
#include "veldt/core/convolution.h"
#include "veldt/core/error.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {
namespace {

class CudaConvolution : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_emulated_device(); }
  ~CudaConvolution() override { gpu::emulation::set_order(gpu::emulation::Order::forward); }
};

// All three parts, from one x, w and y.
void expect_parts(const ConvLayout& layout, const Shape& x_shape, const Shape& w_shape, DType dtype) {
  Shape y_shape = {x_shape[0], w_shape[0]};
  for (int d = 0; d < layout.dims; ++d)
    y_shape.push_back(layout.output_size(d, x_shape[2 + d] + 2 * layout.padding[static_cast<std::size_t>(d)],
                                         w_shape[2 + d]));
  Rng rng(5);
  Tensor here[3], there[3];
  const Shape shapes[] = {x_shape, w_shape, y_shape};
  for (int i = 0; i < 3; ++i) {
    here[i] = write(uniform(shapes[i], rng), dtype);
    there[i] = onto_device(here[i]);
  }
  const Tensor bias = write(uniform({w_shape[0]}, rng), dtype), there_bias = onto_device(bias);
  for (int part = 0; part < 3; ++part) {
    const int first = part == 0, second = 3 - part - first;
    const Tensor wanted = write(uniform(shapes[part], rng), dtype), got = onto_device(wanted);
    const View b = bias.view(), b2 = there_bias.view();
    const bool biased = part == static_cast<int>(ConvPart::output);
    backend(Device{}).convolve(layout, static_cast<ConvPart>(part), here[first].view(), here[second].view(),
                               biased ? &b : nullptr, wanted.view());
    backend(kEmulated).convolve(layout, static_cast<ConvPart>(part), there[first].view(),
                                there[second].view(), biased ? &b2 : nullptr, got.view());
    const Tensor back = from_device(got);
    ASSERT_EQ(gpu::emulation::take_fault(), "");
    const Values expected = read(wanted), found = read(back);
    const double terms = static_cast<double>(std::max(numel(w_shape), numel(y_shape)));
    const double tolerance = (dtype == DType::f32 ? 6e-8 : 1.2e-16) * (16 + terms);
    for (std::size_t i = 0; i < expected.v.size(); ++i)
      ASSERT_NEAR(found.v[i], expected.v[i], tolerance)
          << x_shape << ", weight " << w_shape << ", " << dtype << ", part " << part << ", element " << i;
  }
}

void expect_parts(const ConvLayout& layout, const Shape& x, const Shape& w) {
  for (const DType dtype : {DType::f32, DType::f64}) expect_parts(layout, x, w, dtype);
}

TEST_F(CudaConvolution, AgreesWithTheCpuForEdgesOfTiles) {
  for (const std::int64_t out : {1, 16, 17, 65})
    for (const std::int64_t in : {1, 3, 17})
      expect_parts({.dims = 1, .padding = {1, 0, 0}}, {2, in, 9}, {out, in, 3});
  // Columns beyond a tile of 64, and of 256.
  expect_parts({.dims = 2}, {1, 2, 9, 10}, {20, 2, 2, 2});
  expect_parts({.dims = 2}, {3, 2, 11, 10}, {4, 2, 2, 2});
}

TEST_F(CudaConvolution, TakesStridesDilationsAndGroups) {
  expect_parts({.dims = 2, .stride = {2, 3, 1}, .padding = {2, 1, 0}, .dilation = {1, 2, 1}, .groups = 2},
               {2, 6, 9, 11}, {8, 3, 3, 2});
  expect_parts({.dims = 3, .stride = {1, 2, 2}, .padding = {1, 0, 2}, .dilation = {2, 1, 1}, .groups = 3},
               {2, 3, 5, 4, 6}, {6, 1, 2, 3, 2});
}

TEST_F(CudaConvolution, CutsLongSumsInAFixedWay) {
  expect_parts({.dims = 1}, {3, 2, 700}, {3, 2, 3});    // the weight's gradient
  expect_parts({.dims = 1}, {1, 60, 12}, {20, 60, 9});  // the output, with its bias
  expect_parts({.dims = 1}, {1, 4, 130}, {3, 4, 100});  // x's gradient
}

TEST_F(CudaConvolution, NeedsNoOrderOfItsThreads) {
  using gpu::emulation::Order;
  for (const Order order : {Order::reverse, Order::shuffled}) {
    gpu::emulation::set_order(order);
    expect_parts({.dims = 2, .stride = {2, 1, 1}, .padding = {1, 1, 0}}, {2, 5, 14, 9}, {18, 5, 3, 3});
  }
}

TEST_F(CudaConvolution, RefusesOtherDtypes) {
  const Tensor x = onto_device(write({{1, 1, 1}, {1}}, DType::i64));
  const std::string said = error_of<DeviceError>([&] {
    backend(kEmulated).convolve({.dims = 1}, ConvPart::output, x.view(), x.view(), nullptr, x.view());
  });
  EXPECT_NE(said.find("there is no kernel of convolve for i64 on cuda"), std::string::npos) << said;
}

}  // namespace
}  // namespace veldt::test
