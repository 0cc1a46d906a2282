// The whitening layer: what it makes of patches is white, in any colours, and it refuses what has none.
#include "veldt/nn/whitening.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/convolution.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::nn {
namespace {

// Pictures whose neighbours and channels go together, and whose second channel is faint.
Tensor coloured_pictures() {
  Rng rng(5);
  const Tensor noise = randn({40, 3, 14, 14}, rng, 0, 1, DType::f64);
  const Tensor blurred =
      conv2d(noise, full({2, 3, 3, 3}, 1.0, DType::f64) + randn({2, 3, 3, 3}, rng, 0, 0.5, DType::f64), {});
  return blurred * Tensor::of({1, 2, 1, 1}, {1, 0.05}, DType::f64);
}

// The mean product of each two of the first half of the channels, [d, d].
std::vector<double> moments_of(const Tensor& y) {
  const std::int64_t half = y.size(1) / 2;
  const Tensor rows = reshape(transpose(slice(y, 1, 0, half), 0, 1), {half, -1});
  return (matmul(rows, transpose(rows, 0, 1)) / static_cast<double>(rows.size(1))).values<double>();
}

TEST(Whitening, MakesPatchesWhite) {
  const Tensor pictures = coloured_pictures();
  WhiteningConv2d layer(2, 2, {.eps = 1e-12, .dtype = DType::f64});
  layer.fit(pictures);
  const Tensor y = layer(pictures);
  ASSERT_EQ(y.shape(), (Shape{40, 16, 11, 11}));
  const std::vector<double> moments = moments_of(y);
  for (std::size_t i = 0; i < moments.size(); ++i) EXPECT_NEAR(moments[i], i % 9 == 0 ? 1 : 0, 1e-9) << i;
  const Tensor sum = slice(y, 1, 0, 8) + slice(y, 1, 8, 16);  // each direction has its negative
  for (const double v : sum.values<double>()) EXPECT_EQ(v, 0);
}

TEST(Whitening, BeginsWithThePixelsThemselves) {
  WhiteningConv2d layer(1, 2);
  const Tensor y = layer(Tensor::of({1, 1, 2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(y.values<float>(), (std::vector<float>{1, 2, 3, 4, -1, -2, -3, -4}));
}

// What does not vary is not divided by zero.
TEST(Whitening, OfOneColourIsFinite) {
  WhiteningConv2d layer(3, 3);
  layer.fit(full({4, 3, 8, 8}, 0.5));
  for (const float v : layer.weight().values<float>()) EXPECT_TRUE(std::isfinite(v));
  EXPECT_NEAR(layer.weight().values<float>()[0], 1 / std::sqrt(27.0) / std::sqrt(27 * 0.25 + 5e-4), 1e-5);
}

TEST(Whitening, IsNotTrainedButItsBiasIs) {
  WhiteningConv2d layer(3, 2), other(3, 2);
  ASSERT_EQ(layer.trained_parameters().size(), 1U);
  EXPECT_EQ(layer.trained_parameters()[0].name, "bias");
  layer.fit(randn({4, 3, 8, 8}));
  other.load_state_dict(layer.state_dict());
  EXPECT_EQ(other.weight().values<float>(), layer.weight().values<float>());
}

TEST(Whitening, RefusesWhatHasNoPatches) {
  WhiteningConv2d layer(3, 2);
  EXPECT_THROW(layer.fit(zeros({4, 1, 8, 8})), ShapeError);
  EXPECT_THROW(layer.fit(zeros({4, 3, 8, 1})), ShapeError);
  EXPECT_THROW(layer.fit(zeros({0, 3, 8, 8})), ShapeError);
  EXPECT_THROW(layer.fit(full({1, 3, 4, 4}, std::numeric_limits<double>::infinity())), Error);
  EXPECT_THROW(WhiteningConv2d(3, 0), ConfigError);
  EXPECT_THROW(WhiteningConv2d(3, 1 << 20), ConfigError);
  EXPECT_THROW(WhiteningConv2d(3, 2, {.eps = 0}), ConfigError);
}

}  // namespace
}  // namespace veldt::nn
