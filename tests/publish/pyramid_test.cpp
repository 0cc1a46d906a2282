// Tiles: each level is the field drawn at that size, and a stopped pyramid goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/publish/fields.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/ops/shape.h"
#include "veldt/publish/pyramid.h"

namespace veldt::test {
namespace {

const publish::PyramidOptions kOptions{.title = "a", .size = {75, 50}, .tile = 16};

TEST(Pyramid, TilesAreTheFieldDrawnAtEachSize) {
  const TempDir dir;
  const field::ImageField field(published_field(published_options(field::Activation::siren, 3)));
  std::int64_t told = 0;
  EXPECT_TRUE(publish::write_pyramid(field, dir / "p", kOptions, [&](std::int64_t done) {
    told = done;
    return true;
  }));
  EXPECT_EQ(told, publish::tile_count(kOptions));
  EXPECT_TRUE(std::filesystem::exists(dir / "p/tiles_files/0/0_0.png"));
  EXPECT_THAT(io::read_file(dir / "p/tiles.dzi"), testing::HasSubstr("Width=\"75\" Height=\"50\""));
  for (const auto& [level, size] :
       std::vector<std::pair<int, Size>>{{7, {75, 50}}, {6, {38, 25}}, {4, {10, 7}}}) {
    const Tensor whole = field.render(size);
    for (std::int64_t y = 0; y < size.height; y += 16)
      for (std::int64_t x = 0; x < size.width; x += 16) {
        const Tensor tile =
            io::read_image(str(dir / "p/tiles_files/", level, "/", x / 16, "_", y / 16, ".png"));
        ASSERT_EQ(tile.size(0), std::min<std::int64_t>(16, size.height - y));
        ASSERT_EQ(tile.size(1), std::min<std::int64_t>(16, size.width - x));
        for (std::int64_t i = 0; i < tile.size(0); ++i)
          for (std::int64_t k = 0; k < tile.size(1) * 3; ++k)
            EXPECT_NEAR(tile.data<float>()[i * tile.size(1) * 3 + k],
                        whole.data<float>()[((y + i) * size.width + x) * 3 + k], 0.51 / 255);
      }
  }
}

TEST(Pyramid, AStoppedOneGoesOnAndIsTheSame) {
  const TempDir dir;
  const field::Field field = published_field(published_options(field::Activation::finer, 1));
  EXPECT_FALSE(
      publish::write_pyramid(field, dir / "p", kOptions, [](std::int64_t done) { return done < 9; }));
  EXPECT_FALSE(std::filesystem::exists(dir / "p/index.html"));
  EXPECT_FALSE(std::filesystem::exists(dir / "p/tiles.dzi"));
  EXPECT_TRUE(publish::write_pyramid(field, dir / "p", kOptions));
  EXPECT_TRUE(publish::write_pyramid(field, dir / "q", kOptions));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir / "q"))
    if (entry.is_regular_file()) {
      const std::string name = entry.path().string().substr((dir / "q").size());
      EXPECT_EQ(io::read_file(dir / ("p" + name)), io::read_file(entry.path().string())) << name;
    }
}

TEST(Pyramid, RefusesAFolderOfOtherTiles) {
  const TempDir dir;
  const field::Field field = published_field(published_options(field::Activation::siren, 1));
  publish::write_pyramid(field, dir / "p", {.size = {20, 20}});
  EXPECT_THROW(publish::write_pyramid(field, dir / "p", {.size = {21, 20}}), ConfigError);
  EXPECT_THROW(publish::write_pyramid(published_field(published_options(field::Activation::siren, 1), 4),
                                      dir / "p", {.size = {20, 20}}),
               ConfigError);
  std::filesystem::create_directories(dir / "r/tiles_files");
  EXPECT_THROW(publish::write_pyramid(field, dir / "r", {.size = {20, 20}}), ConfigError);
  for (const std::string name : {"index.html", "tiles.dzi"}) {
    std::filesystem::create_directories(dir / name);
    io::write_file(dir / name + "/" + name, "mine");
    EXPECT_THROW(publish::write_pyramid(field, dir / name, {.size = {20, 20}}), ConfigError);
    EXPECT_EQ(io::read_file(dir / name + "/" + name), "mine");
  }
  EXPECT_THROW(publish::write_pyramid(field, dir / "s", {.size = {0, 20}}), ConfigError);
}

}  // namespace
}  // namespace veldt::test
