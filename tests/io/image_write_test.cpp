// PNG as it is written: every level comes back, rows come in any portions, and a full disk leaves the old
// file. A JPEG in memory has the bytes of one in a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <limits>

#include "tests/io/faults.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/image.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::io {
namespace {

using test::count_entries;
using test::says;
using test::TempDir;
using test::thrown_by;
using ::testing::ElementsAre;
using Kind = IoError::Kind;

Tensor write_and_read(const Tensor& image, const WriteOptions& options = {}) {
  const TempDir dir;
  write_image(dir / "a.png", image, options);
  EXPECT_EQ(image_info(dir / "a.png").bit_depth, options.bits);
  EXPECT_EQ(count_entries(dir.path()), 1u);
  return read_image(dir / "a.png");
}

Tensor levels_of(int bits, const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(numel(shape)));
  const int levels = 1 << bits;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>(i) % levels) / static_cast<float>(levels - 1);
  return Tensor::from<float>(shape, values);
}

TEST(WriteImage, BringsEveryLevelBackExactly) {
  for (const Shape& shape :
       {Shape{16, 16, 1}, Shape{8, 8, 2}, Shape{16, 16, 3}, Shape{16, 16, 4}, Shape{1, 1, 3}})
    for (const int bits : {8, 16}) {
      const Tensor image = levels_of(bits, shape);
      EXPECT_EQ(write_and_read(image, {.bits = bits}).values<float>(), image.values<float>())
          << shape << bits;
    }
  const Tensor all = levels_of(16, {256, 256, 1});
  EXPECT_EQ(write_and_read(all, {.bits = 16}).values<float>(), all.values<float>());
  const Tensor ink = levels_of(1, {7, 13, 1});
  EXPECT_EQ(write_and_read(ink, {.bits = 1}).values<float>(), ink.values<float>());
}

TEST(WriteImage, ClampsAndRoundsHalfUp) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor image = Tensor::from<float>(
      {2, 4}, std::vector<float>{-1, 2, -kInfinity, kInfinity, 0.5f / 255, 0.499f / 255, 1.5f / 255, 0.5f});
  EXPECT_THAT(write_and_read(image).values<float>(),
              ElementsAre(0, 1, 0, 1, 1 / 255.0f, 0, 2 / 255.0f, 128 / 255.0f));
  EXPECT_THAT(write_and_read(image, {.bits = 1}).values<float>(), ElementsAre(0, 1, 0, 1, 0, 0, 0, 1));
}

TEST(WriteImage, TakesDoublesAndViews) {
  const Tensor image = Tensor::of({2, 3}, {0, 0.2, 0.4, 0.6, 0.8, 1}, DType::f64);
  EXPECT_THAT(write_and_read(image).values<float>(), ElementsAre(0, 0.2f, 0.4f, 0.6f, 0.8f, 1));
  const Tensor turned = image.alias({3, 2}, {1, 3}, 0);
  EXPECT_THAT(write_and_read(turned).values<float>(), ElementsAre(0, 0.6f, 0.2f, 0.8f, 0.4f, 1));
}

TEST(WriteImage, RefusesANaNAndSaysWhereItIs) {
  const TempDir dir;
  const Tensor image =
      Tensor::from<float>({2, 2, 3}, std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NAN, 0});
  const Error error = test::thrown_by([&] { write_image(dir / "a.png", image); });
  EXPECT_TRUE(says(error, "column 1, row 1")) << error.what();
  EXPECT_EQ(count_entries(dir.path()), 0u);
}

TEST(WriteImage, RefusesShapesAndOptionsThatPngHasNot) {
  const TempDir dir;
  const std::string path = dir / "a.png";
  for (const Shape& shape :
       {Shape{4}, Shape{2, 2, 5}, Shape{2, 2, 0}, Shape{0, 3, 1}, Shape{3, 0}, Shape{1, 2, 2, 3}})
    EXPECT_THROW(write_image(path, empty(shape)), ShapeError) << shape;
  EXPECT_THROW(write_image(path, empty({2, 2}, DType::u8)), ShapeError);
  EXPECT_THROW(write_image(path, levels_of(8, {2, 2, 3}), {.bits = 1}), ConfigError);
  EXPECT_THROW(write_image(path, levels_of(8, {2, 2}), {.bits = 4}), ConfigError);
  EXPECT_THROW(write_image(path, levels_of(8, {2, 2}), {.compression = 10}), ConfigError);
  EXPECT_EQ(count_entries(dir.path()), 0u);
}

TEST(WriteImage, ReportsAPlaceThatCannotBeWritten) {
  const TempDir dir;
  const Tensor image = levels_of(8, {64, 64, 1});
  for (const std::string& path : {dir.path(), dir / "none/a.png", std::string("/dev/full")})
    EXPECT_EQ(thrown_by<IoError>([&] { write_image(path, image); }).kind(), Kind::unwritable) << path;
}

TEST(CrashWriteImage, LeavesTheOldPictureOnAFullDisk) {
  const TempDir dir;
  const test::SmallDisk disk(dir / "disk");
  if (!disk.active()) GTEST_SKIP() << "mounting needs root";
  write_image(dir / "disk/a.png", levels_of(8, {8, 8, 1}));
  const std::string before = test::bytes_of(dir / "disk/a.png");
  const IoError error = thrown_by<IoError>([&] {
    write_image(dir / "disk/a.png", levels_of(16, {512, 512, 1}), {.bits = 16, .compression = 0});
  });
  EXPECT_EQ(error.kind(), Kind::unwritable);
  EXPECT_TRUE(says(error, "No space left")) << error.what();
  EXPECT_EQ(test::bytes_of(dir / "disk/a.png"), before);
  EXPECT_EQ(count_entries(dir / "disk"), 1u);
}

TEST(WriteImage, AJpegInMemoryHasTheBytesOfAFile) {
  const TempDir dir;
  for (const std::int64_t channels : {1, 3}) {
    const Tensor levels = levels_of(8, {23, 31, channels});
    write_image(dir / "a.jpg", levels, {.quality = 40});
    const std::string bytes = jpeg_bytes(to(round(levels * 255.0), DType::u8), 40);
    EXPECT_EQ(bytes, test::bytes_of(dir / "a.jpg"));
  }
  for (const Tensor& no_picture :
       {zeros({4, 4, 3}), zeros({4, 4}, DType::u8), zeros({4, 4, 2}, DType::u8), zeros({0, 4, 3}, DType::u8)})
    EXPECT_THROW(jpeg_bytes(no_picture, 40), ShapeError);
  for (const int quality : {0, 101, -1})
    EXPECT_THROW(jpeg_bytes(zeros({4, 4, 3}, DType::u8), quality), ConfigError);
}

TEST(ImageWriter, TakesRowsInAnyPortions) {
  const TempDir dir;
  const Tensor image = levels_of(8, {10, 7, 3});
  ImageWriter writer(dir / "a.png", {7, 10}, 3);
  const float* rows = image.data<float>();
  for (const std::int64_t count : {1, 0, 4, 5}) {
    writer.write_rows(rows, count);
    rows += count * 21;
  }
  EXPECT_FALSE(std::filesystem::exists(dir / "a.png"));
  writer.finish();
  EXPECT_EQ(read_image(dir / "a.png").values<float>(), image.values<float>());
}

TEST(ImageWriter, CountsItsRows) {
  const TempDir dir;
  const std::vector<float> row(4, 0.0f);
  {
    ImageWriter writer(dir / "a.png", {2, 1}, 1);
    EXPECT_THROW(writer.finish(), ShapeError);
    EXPECT_THROW(writer.write_rows(row.data(), 2), ShapeError);
    writer.write_rows(row.data(), 1);
    EXPECT_THROW(writer.write_rows(row.data(), 1), ShapeError);
  }
  EXPECT_EQ(count_entries(dir.path()), 0u);
}

TEST(ImageWriter, NeedsNoMoreMemoryForATallPicture) {
  const TempDir dir;
  const int status = test::in_child([&] {
    const auto peak = [] {
      rusage usage{};
      ::getrusage(RUSAGE_SELF, &usage);
      return usage.ru_maxrss;  // KiB
    };
    const std::vector<float> row(1024, 0.5f);
    ImageWriter writer(dir / "a.png", {1024, 16384}, 1);
    writer.write_rows(row.data(), 1);
    const long before = peak();
    for (int y = 1; y < 16384; ++y) writer.write_rows(row.data(), 1);
    writer.finish();
    return peak() - before < 4096 ? 7 : 8;
  });
  EXPECT_EQ(status, 7);
  EXPECT_EQ(image_info(dir / "a.png").height, 16384);
}

}  // namespace
}  // namespace veldt::io
