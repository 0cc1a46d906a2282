// Pictures cut into tiles: where these lie, their margins, what is refused.
#include "veldt/data/picture_tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/io/make_png.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"

namespace veldt::data {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

class PictureTiles : public testing::Test {
 protected:
  // Levels 10 y + x.
  std::string put(const std::string& name, int width, int height) const {
    std::vector<int> samples;
    for (int i = 0; i < width * height; ++i) samples.push_back(10 * (i / width) + i % width);
    test::put_bytes(dir_ / name, test::make_png({.width = width, .height = height}, samples));
    return dir_ / name;
  }
  static std::vector<int> levels(const Example& example) {
    std::vector<int> all;
    for (const float v : example.at(0).values<float>()) all.push_back(static_cast<int>(v * 255 + 0.5F));
    return all;
  }
  const test::TempDir dir_ = test::TempDir::in_memory();
};

TEST_F(PictureTiles, LieSideBySideInTheMiddle) {
  const DatasetPtr set = picture_tiles({put("a.png", 7, 5), put("b.png", 2, 2)}, {.size = 2, .grey = true});
  ASSERT_EQ(set->size(), 2 * 3 + 1);
  EXPECT_EQ(set->get(0).size(), 1U);
  EXPECT_EQ(set->get(0).at(0).shape(), (Shape{1, 2, 2}));
  EXPECT_THAT(levels(set->get(0)), ElementsAre(0, 1, 10, 11));
  EXPECT_THAT(levels(set->get(5)), ElementsAre(24, 25, 34, 35));
  EXPECT_THAT(set->name_of(6), HasSubstr("b.png at 0, 0"));
  EXPECT_EQ(picture_tiles({dir_ / "a.png"}, {.size = 2})->get(0).at(0).shape(), (Shape{3, 2, 2}));
  // With a margin, as far as there is one.
  const DatasetPtr wide = picture_tiles({dir_ / "a.png"}, {.size = 2, .margin = 1, .grey = true});
  EXPECT_THAT(levels(wide->get(0)), ElementsAre(0, 1, 2, 10, 11, 12, 20, 21, 22));
  EXPECT_EQ(wide->get(4).at(0).shape(), (Shape{1, 4, 4}));
}

TEST_F(PictureTiles, WhatIsNoPictureOrTooSmallIsRefused) {
  EXPECT_THAT(error_of<IoError>([&] { picture_tiles({put("a.png", 7, 5)}, {.size = 6}); }),
              testing::AllOf(HasSubstr("a.png is too small"), HasSubstr("7 x 5")));
  EXPECT_THROW(picture_tiles({dir_ / "a.png"}, {.size = 0}), ConfigError);
  EXPECT_THROW(picture_tiles({dir_ / "a.png"}, {.margin = -1}), ConfigError);
  EXPECT_THROW(picture_tiles({dir_ / "none.png"}), IoError);
  put("c.png", 7, 5);
  test::put_bytes(dir_ / "notes.txt", "no picture");
  EXPECT_THAT(pictures_of_folder(dir_.path()), ElementsAre(dir_ / "a.png", dir_ / "c.png"));
  EXPECT_THROW(pictures_of_folder(dir_ / "a.png"), IoError);
  std::filesystem::create_directories(dir_ / "empty");
  EXPECT_THAT(error_of<IoError>([&] { pictures_of_folder(dir_ / "empty"); }), HasSubstr("no picture in"));
}

}  // namespace
}  // namespace veldt::data
