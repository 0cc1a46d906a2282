// Pictures of any size and colours side by side on one sheet, and what is no picture.
#include "veldt/data/picture_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"

namespace veldt::data {
namespace {

using test::error_of;
using testing::HasSubstr;

float pixel(const Tensor& grid, std::int64_t y, std::int64_t x, std::int64_t c) {
  return grid.data<float>()[(y * grid.size(1) + x) * grid.size(2) + c];
}

TEST(PictureGrid, SetsPicturesSideBySide) {
  const Tensor grey = Tensor::of({1, 2, 3}, {0, 0.1f, 0.2f, 0.3f, 0.4f, 9});
  const Tensor grid = picture_grid({grey, full({1, 2, 3}, -1), grey}, 2);
  EXPECT_EQ(grid.shape(), (Shape{2 + 2 * 4, 2 + 2 * 5, 1}));
  EXPECT_EQ(pixel(grid, 0, 0, 0), 0.5f);
  EXPECT_EQ(pixel(grid, 2, 3, 0), 0.1f);
  EXPECT_EQ(pixel(grid, 3, 2, 0), 0.3f);
  EXPECT_EQ(pixel(grid, 3, 4, 0), 1);     // cut off
  EXPECT_EQ(pixel(grid, 2, 7, 0), 0);     // of the second one
  EXPECT_EQ(pixel(grid, 6, 3, 0), 0.1f);  // of the third one
  EXPECT_EQ(pixel(grid, 7, 8, 0), 0.5f);  // of none
  EXPECT_EQ(picture_grid({grey}, 8).shape(), (Shape{6, 7, 1}));
}

TEST(PictureGrid, TakesColoursAndSizesThatDiffer) {
  const Tensor colour = Tensor::of({3, 1, 1}, {0.1f, 0.2f, 0.3f});
  const Tensor grid = picture_grid({colour, full({1, 2, 4}, 0.75)}, 2);
  EXPECT_EQ(grid.shape(), (Shape{6, 14, 3}));
  for (std::int64_t c = 0; c < 3; ++c) {
    EXPECT_EQ(pixel(grid, 2, 2, c), 0.1f * static_cast<float>(c + 1));
    EXPECT_EQ(pixel(grid, 2, 3, c), 0.5f);
    EXPECT_EQ(pixel(grid, 3, 11, c), 0.75f);
  }
}

TEST(PictureGrid, RefusesWhatIsNoPicture) {
  EXPECT_THAT(error_of<ConfigError>([] { picture_grid({}, 2); }), HasSubstr("0 pictures"));
  EXPECT_THAT(error_of<ConfigError>([] { picture_grid({zeros({1, 2, 2})}, 0); }), HasSubstr("0 columns"));
  for (const Tensor& t : {zeros({2, 2}), zeros({2, 3, 3}), zeros({1, 2, 2}, DType::u8)})
    EXPECT_THAT(error_of<ShapeError>([&] { picture_grid({t}, 1); }), HasSubstr("cannot draw"));
}

}  // namespace
}  // namespace veldt::data
