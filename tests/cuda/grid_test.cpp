// The multiresolution grid on the emulated device against the CPU's.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/emulated_device.h"
#include "tests/support/error_of.h"
#include "tests/support/gpu_emulation.h"
#include "tests/support/values.h"
#include "veldt/core/error.h"
#include "veldt/core/grid.h"
#include "veldt/ops/grid_encoding.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {
namespace {

class CudaGrid : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_emulated_device(); }
  ~CudaGrid() override { gpu::emulation::set_order(gpu::emulation::Order::forward); }
};

struct Call {
  GridOptions options;
  std::int64_t points = 50;
  DType dtype = DType::f32;
  GridDerivative derivative = {};
};

struct Found {
  Values here, there;
};

Found encoded(const Call& call) {
  Rng rng(1);
  const GridLayout grid = grid_layout(call.options);
  const Tensor x = write(uniform({call.points, grid.dims}, rng, -0.2, 1.2), call.dtype);
  const Tensor table = write(uniform({grid.entries(), grid.features}, rng), call.dtype);
  const Tensor out = empty({call.points, std::int64_t{grid.levels} * grid.features}, call.dtype);
  const Tensor there = onto_device(out), x2 = onto_device(x), table2 = onto_device(table);
  backend(Device{}).grid_encode(grid, call.derivative, x.view(), table.view(), out.view());
  backend(kEmulated).grid_encode(grid, call.derivative, x2.view(), table2.view(), there.view());
  const Tensor got = from_device(there);
  EXPECT_EQ(gpu::emulation::take_fault(), "");
  return {read(out), read(got)};
}

// The gradient of the table, of a g whose columns differ much in size.
Found added(const Call& call, double nan_in_x = 0, double in_g = 0) {
  Rng rng(2);
  const GridLayout grid = grid_layout(call.options);
  Values points = uniform({call.points, grid.dims}, rng, -0.2, 1.2);
  Values gradient = uniform({call.points, std::int64_t{grid.levels} * grid.features}, rng);
  for (std::size_t i = 0; i < gradient.v.size(); ++i)
    gradient.v[i] *=
        std::pow(100, static_cast<double>(i % static_cast<std::size_t>(gradient.shape[1]) % 8) - 4);
  if (std::isnan(nan_in_x)) points.v[1] = nan_in_x;
  if (in_g != 0) gradient.v[0] = in_g;
  const Tensor x = write(points, call.dtype), g = write(gradient, call.dtype);
  const Tensor table = empty({grid.entries(), grid.features}, call.dtype), there = onto_device(table);
  const Tensor x2 = onto_device(x), g2 = onto_device(g);
  backend(Device{}).grid_scatter(grid, call.derivative, x.view(), g.view(), table.view());
  backend(kEmulated).grid_scatter(grid, call.derivative, x2.view(), g2.view(), there.view());
  const Tensor got = from_device(there);
  EXPECT_EQ(gpu::emulation::take_fault(), "");
  return {read(table), read(got)};
}

// Within `tolerance` of the column's largest number.
void expect_near(const Found& found, double tolerance, std::int64_t first, std::int64_t end) {
  const std::int64_t columns = found.here.shape[1];
  for (std::int64_t c = 0; c < columns; ++c) {
    double largest = 0;
    for (std::int64_t i = first; i < end; ++i)
      largest = std::max(largest, std::fabs(found.here.v[static_cast<std::size_t>(i * columns + c)]));
    for (std::int64_t i = first; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i * columns + c);
      ASSERT_NEAR(found.there.v[at], found.here.v[at], tolerance * largest)
          << "row " << i << ", column " << c;
    }
  }
}

void expect_agreement(Call call) {
  const GridLayout grid = grid_layout(call.options);
  const double finest = grid.level[static_cast<std::size_t>(grid.levels - 1)].cells;
  for (const DType dtype : {DType::f32, DType::f64}) {
    call.dtype = dtype;
    // A position is known to an ulp, which the finest level makes as many of a cell as it has cells.
    // Derivatives of a cubic lose more.
    const double steps = (16 + 8 * finest) * (call.derivative.order == GridDerivative{}.order ? 1 : 8);
    const double tolerance = (dtype == DType::f32 ? 1.2e-7 : 2.3e-16) * steps;
    SCOPED_TRACE(str(grid.dims, " axes, ", grid.features, " features, ", call.points, " points, ", dtype));
    expect_near(encoded(call), tolerance, 0, call.points);
    const Found table = added(call);
    for (int l = 0; l < grid.levels; ++l)
      expect_near(table, tolerance, grid.level[static_cast<std::size_t>(l)].first,
                  grid.level[static_cast<std::size_t>(l) + 1].first);
  }
}

TEST_F(CudaGrid, AgreesWithTheCpu) {
  for (const int dims : {1, 2, 3, 4})
    for (const int features : {1, 2, 3, 8})
      for (const std::int64_t points : {1, 37, 300})
        for (const bool smooth : {false, true})
          expect_agreement({{dims, 3, features, 6, 2, 9, smooth}, points});
}

TEST_F(CudaGrid, AgreesOnManyLevels) {
  expect_agreement({{2, 16, 2, 8, 2, 60, false}, 300});
  expect_agreement({{3, 32, 8, 5, 1, 12, false}, 20});
}

TEST_F(CudaGrid, AgreesOnDerivatives) {
  for (const bool smooth : {false, true})
    for (const GridDerivative& d : {GridDerivative{{1, 0}}, GridDerivative{{0, 2}}, GridDerivative{{1, 1}},
                                    GridDerivative{{3, 0}}, GridDerivative{{4, 1}}, GridDerivative{{7, 0}}})
      expect_agreement({{2, 2, 2, 6, 2, 9, smooth}, 60, DType::f32, d});
}

TEST_F(CudaGrid, NoPointsGiveATableOfZeros) {
  const Found table = added({{2, 2, 2, 6, 2, 9, false}, 0});
  for (const double v : table.there.v) EXPECT_EQ(v, 0);
}

// All points in one entry, and the largest floats there are.
TEST_F(CudaGrid, DoesNotOverflow) {
  const GridLayout grid = grid_layout({1, 1, 1, 10, 1, 1, false});
  for (const double size : {1e-30, 1.0, 1e34}) {
    const Tensor x = write({{3000, 1}, std::vector<double>(3000, 0)}, DType::f32);
    const Tensor g = write({{3000, 1}, std::vector<double>(3000, -size)}, DType::f32);
    const Tensor x2 = onto_device(x), g2 = onto_device(g), there = onto_device(empty({2, 1}));
    backend(kEmulated).grid_scatter(grid, {}, x2.view(), g2.view(), there.view());
    const Values got = read(from_device(there));
    EXPECT_NEAR(got.v[0], -3000 * size, 3000 * size * 1e-7);
    EXPECT_EQ(got.v[1], 0);
  }
}

TEST_F(CudaGrid, ShowsWhatIsNotFinite) {
  const Call call = {{2, 2, 2, 6, 2, 9, false}, 40};
  const GridLayout grid = grid_layout(call.options);
  for (const double v : added(call, NAN).there.v) EXPECT_TRUE(std::isnan(v));
  for (const double bad : {double{NAN}, double{INFINITY}}) {
    const Found clean = added(call), found = added(call, 0, bad);
    for (std::size_t i = 0; i < found.there.v.size(); ++i) {
      const bool same_column = i % 2 == 0 && static_cast<std::int64_t>(i) < 2 * grid.level[1].first;
      if (same_column)
        EXPECT_TRUE(std::isnan(found.there.v[i]));
      else
        EXPECT_EQ(found.there.v[i], clean.there.v[i]);
    }
  }
}

TEST_F(CudaGrid, HasTheSameBitsInAnyOrder) {
  using gpu::emulation::Order;
  const Call call = {{2, 4, 2, 6, 2, 20, false}, 800};
  const std::vector<double> forward = added(call).there.v;
  for (const Order order : {Order::reverse, Order::shuffled}) {
    gpu::emulation::set_order(order);
    EXPECT_EQ(added(call).there.v, forward);
  }
}

TEST_F(CudaGrid, RefusesOtherDtypes) {
  const GridLayout grid = grid_layout({1, 1, 1, 10, 1, 1, false});
  const Tensor x = onto_device(write({{1, 1}, {0}}, DType::bf16));
  const std::string said =
      error_of<DeviceError>([&] { backend(kEmulated).grid_encode(grid, {}, x.view(), x.view(), x.view()); });
  EXPECT_NE(said.find("there is no kernel of grid_encode for bf16 on cuda"), std::string::npos) << said;
}

}  // namespace
}  // namespace veldt::test
