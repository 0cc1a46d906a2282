// A picture row by row: what the whole reader gives of each kind of file that is read so, in any portions,
// and its errors; the other kinds are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/io/faults.h"
#include "tests/io/make_png.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/image.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::io {
namespace {

using test::bytes_of;
using test::make_png;
using test::PngSpec;
using test::put_bytes;
using test::TempDir;
using ::testing::HasSubstr;

const std::string kReaderPictures = VELDT_SOURCE "/tests/golden/pictures/";

bool same_samples(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  if (a.dtype() == DType::u8) return a.values<std::uint8_t>() == b.values<std::uint8_t>();
  return a.values<float>() == b.values<float>();
}

void expect_rows(const std::string& path, bool keep_bytes) {
  const ReadOptions options{.keep_bytes = keep_bytes};
  const Tensor whole = read_image(path, options);
  ImageReader reader(path, options);
  ASSERT_EQ(reader.height(), whole.size(0)) << path;
  ASSERT_EQ(reader.width(), whole.size(1)) << path;
  ASSERT_EQ(reader.channels(), whole.size(2)) << path;
  ASSERT_EQ(reader.dtype(), whole.dtype()) << path;
  for (const std::int64_t most : {std::int64_t{1}, std::int64_t{3}, whole.size(0)}) {
    std::int64_t row = 0;
    while (row < whole.size(0)) {
      ASSERT_EQ(reader.next_row(), row);
      const std::int64_t count = std::min(most, whole.size(0) - row);
      EXPECT_TRUE(same_samples(reader.read_rows(count), contiguous(slice(whole, 0, row, row + count))))
          << path << ", rows from " << row;
      row += count;
    }
    reader.rewind();
  }
  reader.skip_rows(whole.size(0) - 1);
  EXPECT_TRUE(
      same_samples(reader.read_rows(1), contiguous(slice(whole, 0, whole.size(0) - 1, whole.size(0)))))
      << path;
}

// Of each kind that is read by rows.
std::vector<std::string> files_by_rows(const TempDir& dir) {
  std::vector<std::string> paths;
  for (const char* name :
       {"grey.jpg", "rgb_420.jpg", "rgb_444.jpg", "inks_adobe.jpg", "inks_plain.jpg", "inks_ycck.jpg"})
    paths.push_back(kReaderPictures + name);
  const auto put = [&](const std::string& name, const std::string& bytes) {
    put_bytes(dir / name, bytes);
    paths.push_back(dir / name);
  };
  std::vector<int> samples;
  for (int i = 0; i < 7 * 5 * 4; ++i) samples.push_back(i * 7919 % 251);
  int n = 0;
  const auto png = [&](PngSpec spec, int levels) {
    spec.width = 7, spec.height = 5;
    std::vector<int> some = samples;
    for (int& s : some) s %= levels;
    put("a" + std::to_string(++n) + ".png", make_png(spec, some));
  };
  for (const int depth : {1, 2, 4, 8}) png({.depth = depth}, 1 << depth);
  png({.depth = 8, .type = PNG_COLOR_TYPE_RGB}, 251);
  png({.depth = 8, .type = PNG_COLOR_TYPE_RGB_ALPHA}, 251);
  png({.depth = 16, .type = PNG_COLOR_TYPE_GRAY_ALPHA}, 251);
  png({.depth = 16, .type = PNG_COLOR_TYPE_RGB}, 251);
  png({.depth = 2, .type = PNG_COLOR_TYPE_PALETTE, .palette = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {9, 9, 9}}},
      4);
  png({.depth = 8, .type = PNG_COLOR_TYPE_PALETTE, .palette = {{1, 2, 3}, {4, 5, 6}}, .palette_alpha = {9}},
      2);
  png({.depth = 8, .transparent = {7}}, 251);
  // Opaque everywhere, by an alpha that is dropped.
  std::vector<int> opaque = samples;
  for (std::size_t i = 3; i < opaque.size(); i += 4) opaque[i] = 255;
  put("opaque.png", make_png({.width = 7, .height = 5, .type = PNG_COLOR_TYPE_RGB_ALPHA}, opaque));
  std::vector<int> wide(opaque.begin(), opaque.begin() + 70);
  for (std::size_t i = 1; i < wide.size(); i += 2) wide[i] = 65535;
  put("wide.png", make_png({.width = 7, .height = 5, .depth = 16, .type = PNG_COLOR_TYPE_GRAY_ALPHA}, wide));
  put("a.pbm", "P1 3 2\n01 1\n1 0 0");
  put("a.pgm", "P2\n# a comment\n2 2 # another\n9\n7 1 #\n 2 3\n");
  put("b.ppm", "P3 1 2 5 1 2 3  5 0 4");
  put("b.pbm", "P4 9 2\nabcd");
  put("b.pgm", "P5 2 1 65535\nabcd");
  put("c.ppm", "P6 1 2 255\nabcdefP6 1 1 255\nabc");
  put("a.pam", "P7\nWIDTH 1\nHEIGHT 2\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\nabcdefg\xff");
  return paths;
}

TEST(ImageReader, GivesTheRowsOfTheWholePicture) {
  const TempDir dir = TempDir::in_memory();
  for (const std::string& path : files_by_rows(dir)) {
    ASSERT_TRUE(image_info(path).by_rows) << path;
    for (const bool keep_bytes : {true, false}) expect_rows(path, keep_bytes);
  }
}

// Progressive, turned by its EXIF, interlaced, and the formats that have no rows.
TEST(ImageReader, RefusesWhatHasNoRows) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a.png", make_png({.width = 3, .height = 3, .interlaced = true}, std::vector<int>(9, 7)));
  for (const std::string& path :
       {kReaderPictures + "progressive.jpg", kReaderPictures + "orientation_6.jpg",
        kReaderPictures + "orientation_2.jpg", kReaderPictures + "lossless.webp", dir / "a.png"}) {
    EXPECT_FALSE(image_info(path).by_rows) << path;
    EXPECT_THAT(test::error_of<Error>([&] { ImageReader reader(path); }),
                HasSubstr("cannot be read row by row"))
        << path;
  }
  EXPECT_TRUE(image_info(kReaderPictures + "orientation_1.jpg").by_rows);
}

TEST(ImageReader, RefusesSizesBeforeAskingForMemory) {
  const TempDir dir = TempDir::in_memory();
  const std::string path = dir / "a.ppm";
  put_bytes(path, "P6 2 2 255\n123456123456");
  EXPECT_THAT(
      test::error_of<IoError>([&] { ImageReader reader(path, {.max_pixels = 3, .keep_bytes = true}); }),
      HasSubstr("4 pixels and 3 are allowed"));
  EXPECT_THAT(test::error_of<IoError>([&] { ImageReader reader(path, {.max_pixels = 11}); }),
              HasSubstr("of 3 samples, each of which takes 4 bytes"));
  EXPECT_NO_THROW(ImageReader(path, {.max_pixels = 12}));
  put_bytes(dir / "a.png", test::claim_size(1 << 14, 1 << 13));
  EXPECT_THAT(test::error_of<IoError>([&] { ImageReader reader(dir / "a.png", {.keep_bytes = true}); }),
              HasSubstr("the file ends too early"));
}

TEST(ImageReader, RefusesMoreRowsThanThereAre) {
  ImageReader reader(kReaderPictures + "grey.jpg");
  reader.skip_rows(reader.height() - 1);
  EXPECT_THAT(test::error_of<ShapeError>([&] { reader.read_rows(2); }), HasSubstr("cannot read 2 rows"));
  EXPECT_THAT(test::error_of<ShapeError>([&] { reader.skip_rows(-1); }), HasSubstr("cannot read -1 rows"));
  reader.read_rows(1);
  EXPECT_EQ(reader.read_rows(0).size(0), 0);
}

// Whatever is cut off or changed: rows give an error where the whole picture does, and else the same samples.
TEST(ImageReader, FindsWhatTheWholeReaderFinds) {
  const TempDir dir = TempDir::in_memory();
  const std::string path = dir / "damaged";
  const auto expect_alike = [&](const std::string& bytes, const std::string& what) {
    put_bytes(path, bytes);
    const ReadOptions options{.max_pixels = 1 << 16, .keep_bytes = true};
    Tensor whole, rows;
    std::string why, why_rows;
    try {
      whole = read_image(path, options);
    } catch (const IoError& error) {
      why = error.what();
    }
    try {
      if (why.empty() && !image_info(path).by_rows) return;
      ImageReader reader(path, options);
      rows = reader.read_rows(reader.height());
    } catch (const IoError& error) {
      why_rows = error.what();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("cannot be read row by row")) << what;
      return;
    }
    EXPECT_EQ(why, why_rows) << what;
    EXPECT_TRUE(!why.empty() || same_samples(whole, rows)) << what;
  };
  for (const std::string& name : files_by_rows(dir)) {
    const std::string bytes = bytes_of(name);
    const std::size_t step = std::max<std::size_t>(1, bytes.size() / 150);
    for (std::size_t i = 0; i < bytes.size(); i += step) {
      expect_alike(bytes.substr(0, i), name + " cut at " + std::to_string(i));
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ 0x15);
      expect_alike(changed, name + " changed at " + std::to_string(i));
    }
  }
}

// The file that was opened is read again, whatever has its name now; a change of its size is noticed.
TEST(ImageReader, ReadsTheSameFileAgain) {
  const TempDir dir;
  const std::string path = dir / "a.pgm";
  put_bytes(path, "P5 2 2 255\nabcd");
  ImageReader reader(path, {.keep_bytes = true});
  reader.read_rows(1);
  std::filesystem::rename(path, dir / "b.pgm");
  put_bytes(path, "P5 2 2 255\nefgh");
  reader.rewind();
  EXPECT_EQ(reader.read_rows(2).values<std::uint8_t>(), (std::vector<std::uint8_t>{'a', 'b', 'c', 'd'}));
  put_bytes(dir / "b.pgm", "P5 1 4 255\nabcd");
  EXPECT_THAT(test::error_of<IoError>([&] { reader.rewind(); }), HasSubstr("has changed while it was read"));
}

}  // namespace
}  // namespace veldt::io
