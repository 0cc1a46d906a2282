// Pictures that grow while a network learns: their sides at each share of the steps, and their pixels.
#include "veldt/data/progressive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int64_t> sides(const ProgressiveResizing& r, std::int64_t whole,
                                const std::vector<double>& shares) {
  std::vector<std::int64_t> all;
  for (const double share : shares) all.push_back(r.side(whole, share));
  return all;
}

TEST(ProgressiveResizing, GrowsAlongALineToTheWhole) {
  const ProgressiveResizing r{.initial_scale = 0.5, .finetune_fraction = 0.4, .size_increment = 8};
  EXPECT_THAT(sides(r, 32, {0, 0.29, 0.3, 0.59, 0.6, 1}), ElementsAre(16, 16, 24, 24, 32, 32));
  const ProgressiveResizing fine{.initial_scale = 0.25, .finetune_fraction = 0, .size_increment = 1};
  EXPECT_THAT(sides(fine, 100, {0, 1.0 / 3, 0.5, 0.999, 1}), ElementsAre(25, 50, 62, 99, 100));
}

TEST(ProgressiveResizing, LeavesOddAndSmallPicturesTheirPixels) {
  const ProgressiveResizing r{.initial_scale = 0.5, .finetune_fraction = 0, .size_increment = 8};
  EXPECT_THAT(sides(r, 30, {0, 0.5, 0.99, 1}), ElementsAre(8, 16, 24, 30));
  EXPECT_THAT(sides(r, 5, {0, 1}), ElementsAre(5, 5));  // smaller than an increment
  EXPECT_THAT(sides(r, 1, {0, 1}), ElementsAre(1, 1));
}

TEST(ProgressiveResizing, HalvesByMeansAndReturnsWholePicturesAsTheyAre) {
  const ProgressiveResizing r{.size_increment = 1};
  const Tensor x = reshape(arange(32, DType::f32), {1, 2, 4, 4}), half = r(x, 0);
  EXPECT_EQ(half.shape(), (Shape{1, 2, 2, 2}));
  EXPECT_THAT(half.values<float>(), ElementsAre(2.5, 4.5, 10.5, 12.5, 18.5, 20.5, 26.5, 28.5));
  const ProgressiveResizing quarter{.initial_scale = 0.25, .size_increment = 1};
  EXPECT_THAT(quarter(x, 0).values<float>(), ElementsAre(7.5, 23.5));  // of all pixels
  EXPECT_EQ((ProgressiveResizing{.initial_scale = 1, .size_increment = 3}.side(32, 0)), 32);
  EXPECT_EQ(r(x, 1).shape(), x.shape());
  EXPECT_EQ(r(x, 1).values<float>(), x.values<float>());
  EXPECT_THAT(error_of<ShapeError>([&] { r(zeros({3, 4, 4}), 0); }), HasSubstr("[3, 4, 4]"));
}

TEST(ProgressiveResizing, RefusesWhatIsNoShare) {
  for (const double scale : {0.0, -1.0, 1.5, std::nan("")})
    EXPECT_THAT(error_of<ConfigError>([&] { ProgressiveResizing{.initial_scale = scale}.check(); }),
                HasSubstr("initial_scale"));
  for (const double share : {-0.1, 1.1, std::nan("")})
    EXPECT_THAT(error_of<ConfigError>([&] { ProgressiveResizing{.finetune_fraction = share}.check(); }),
                HasSubstr("finetune_fraction"));
  EXPECT_THAT(error_of<ConfigError>([&] { (void)ProgressiveResizing{.size_increment = 0}.side(32, 0); }),
              HasSubstr("size_increment"));
}

}  // namespace
}  // namespace veldt::data
