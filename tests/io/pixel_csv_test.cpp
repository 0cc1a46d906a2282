// Pictures as tables: ink, greys and colours, lines in any order, and the place of every fault.
#include "veldt/io/pixel_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <cmath>
#include <locale>

#include "tests/io/faults.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/image.h"

namespace veldt::io {
namespace {

using test::bytes_of;
using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;
using ::testing::ElementsAre;
using Kind = IoError::Kind;

Tensor read_table(const std::string& text, const ReadPixelCsvOptions& options = {}) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a.csv", text);
  return read_pixel_csv(dir / "a.csv", options);
}

std::string text_of(const Tensor& image, const WritePixelCsvOptions& options = {}) {
  const TempDir dir;
  write_pixel_csv(dir / "a.csv", image, options);
  return bytes_of(dir / "a.csv");
}

TEST(ReadPixelCsv, TakesOneForInkAndYFromTheTop) {
  const Tensor image = read_table("x,y,pixel_value\n0,0,0\n1,0,1\n2,0,0\n0,1,1\n1,1,1\n2,1,0\n");
  EXPECT_EQ(image.shape(), (Shape{2, 3, 1}));
  EXPECT_THAT(image.values<float>(), ElementsAre(1, 0, 1, 0, 0, 1));
}

TEST(ReadPixelCsv, TakesLinesInAnyOrderWithEitherEnd) {
  // Python's csv.writer, which the original used, ends its lines in CRLF.
  EXPECT_THAT(read_table("x,y,grey\r\n1,0,51\r\n0,0,255\r\n").values<float>(), ElementsAre(1, 0.2f));
  EXPECT_THAT(read_table("x,y,grey\n1,0,51\n0,0,255").values<float>(), ElementsAre(1, 0.2f));
}

TEST(ReadPixelCsv, TakesFractionsOfInkWhateverTheLocale) {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\1"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Comma));
  const std::vector<float> read =
      read_table("x,y,pixel_value\n0,0,0.25\n1,0,1e-3\n2,0,1.0\n").values<float>();
  const std::string written = text_of(Tensor::of({1, 1, 1}, {200 / 255.0}));
  std::locale::global(before);
  EXPECT_THAT(read, ElementsAre(0.75f, 0.999f, 0));
  EXPECT_EQ(written, "x,y,grey\n0,0,200\n");
}

TEST(ReadPixelCsv, ReadsColours) {
  const Tensor image = read_table("x,y,r,g,b\n0,0,255,0,51\n0,1,0,102,0\n");
  EXPECT_EQ(image.shape(), (Shape{2, 1, 3}));
  EXPECT_THAT(image.values<float>(), ElementsAre(1, 0, 0.2f, 0, 0.4f, 0));
}

TEST(ReadPixelCsv, NamesLineAndColumnOfEveryFault) {
  const std::string head = "x,y,pixel_value\n0,0,1\n";
  const std::tuple<std::string, const char*, const char*> cases[] = {
      {"", "line 1, column 1", "the file is empty"},
      {"\n", "line 1, column 1", "header is missing"},
      {"0,0,1\n1,0,0\n", "line 1, column 1", "'0,0,1' is none"},
      {"\xef\xbb\xbf" + head, "line 1, column 1", "byte order mark"},
      {"\xff\xfex\0", "line 1, column 1", "byte order mark"},
      {"x,y\n0,0\n", "line 1, column 1", "header is missing"},
      {"x,y,pixel_value\n", "line 1, column 1", "no pixels"},
      {head + "1,0\n", "line 3, column 4", "2 fields and the header has 3"},
      {head + "1,0,1,1\n", "line 3, column 6", "4 fields and the header has 3"},
      {head + "\n", "line 3, column 1", "x is ''"},
      {head + "1\n", "line 3, column 2", "1 field and"},
      {head + "1,0,\n", "line 3, column 5", "pixel_value is ''"},
      {head + "1,0,nan\n", "line 3, column 5", "'nan'"},
      {head + "1,0,NaN\n", "line 3, column 5", "'NaN'"},
      {head + "1,0,inf\n", "line 3, column 5", "'inf'"},
      {head + "1,0,1e400\n", "line 3, column 5", "'1e400'"},
      {head + "1,0,2\n", "line 3, column 5", "within 0 and 1"},
      {head + "1,0,-1\n", "line 3, column 5", "within 0 and 1"},
      {head + "1,0,0,5\n", "line 3, column 6", "4 fields"},
      {head + "1,0,1x\n", "line 3, column 5", "'1x'"},
      {head + "1,0, 1\n", "line 3, column 5", "' 1'"},
      {head + "1,0,\"1\"\n", "line 3, column 5", "\"1\""},
      {head + "1,0,1\r\r\n", "line 3, column 5", "pixel_value"},
      {head + "10,-1,1\n", "line 3, column 4", "y is '-1'"},
      {head + "1.5,0,1\n", "line 3, column 1", "x is '1.5'"},
      {head + "nan,0,1\n", "line 3, column 1", "whole number"},
      {head + "1e400,0,1\n", "line 3, column 1", "whole number"},
      {head + "2147483647,0,1\n", "line 3, column 1", "beyond 2^31"},
      {head + "99999999999999999999,0,1\n", "line 3, column 1", "beyond 2^31"},
      {head + "1,0,1\n0,0,0\n", "line 4, column 1", "0,0 is on line 2 already"},
      {head + "2,0,1\n", "missing", "3 x 1, 2 pixels are there, and 1,0 is not"},
      {head + "2147483646,2147483646,1\n", "missing", "1,0 is not"},
      {"x,y,grey\n0,0,256\n", "line 2, column 5", "from 0 to 255"},
      {"x,y,grey\n0,0,0.5\n", "line 2, column 5", "from 0 to 255"},
      {"x,y,r,g,b\n0,0,1,2\n", "line 2, column 8", "4 fields and the header has 5"},
      {"x,y,r,g,b\n0,0,1,nan,3\n", "line 2, column 7", "g is 'nan'"}};
  for (const auto& [text, place, why] : cases) {
    const IoError error = thrown_by<IoError>([&, &bytes = text] { read_table(bytes); });
    EXPECT_EQ(error.kind(), Kind::malformed) << text;
    EXPECT_TRUE(says(error, place)) << error.what();
    EXPECT_TRUE(says(error, why)) << error.what();
  }
}

TEST(ReadPixelCsv, HasALimitOfPixels) {
  const std::string text = "x,y,grey\n0,0,1\n1,0,1\n";
  EXPECT_EQ(read_table(text, {.max_pixels = 2}).numel(), 2);
  EXPECT_TRUE(says(thrown_by<IoError>([&] { read_table(text, {.max_pixels = 1}); }), "more than 1 pixels"));
  EXPECT_EQ(thrown_by<IoError>([&] { read_table(text + std::string(1000, '1'), {.max_pixels = 2}); }).kind(),
            Kind::malformed);
}

TEST(ReadPixelCsv, RefusesWhatIsNoPlainFile) {
  const TempDir dir;
  for (const std::string& path : {dir / "absent", dir.path(), std::string("/dev/zero")})
    EXPECT_EQ(thrown_by<IoError>([&] { read_pixel_csv(path); }).kind(), Kind::missing);
}

TEST(WritePixelCsv, ChoosesColumnsByThePicture) {
  EXPECT_EQ(text_of(Tensor::of({2, 2}, {1, 0, 0, 1})), "x,y,pixel_value\n0,0,0\n1,0,1\n0,1,1\n1,1,0\n");
  EXPECT_EQ(text_of(Tensor::of({1, 2, 1}, {0.2, 1})), "x,y,grey\n0,0,51\n1,0,255\n");
  EXPECT_EQ(text_of(Tensor::of({1, 1, 3}, {0, 1, 0.5})), "x,y,r,g,b\n0,0,0,255,128\n");
}

TEST(WritePixelCsv, TakesInkBelowTheThreshold) {
  const Tensor image = Tensor::of({1, 3}, {127 / 255.0, 128 / 255.0, 0.25});
  EXPECT_EQ(text_of(image, {.columns = PixelColumns::ink}), "x,y,pixel_value\n0,0,1\n1,0,0\n2,0,1\n");
  EXPECT_EQ(text_of(image, {.columns = PixelColumns::ink, .threshold = 0.25f}),
            "x,y,pixel_value\n0,0,0\n1,0,0\n2,0,0\n");
  EXPECT_EQ(text_of(Tensor::of({1, 1, 3}, {1, 0, 0}), {.columns = PixelColumns::grey}), "x,y,grey\n0,0,54\n");
  EXPECT_EQ(text_of(Tensor::of({1, 1}, {0.2}), {.columns = PixelColumns::rgb}), "x,y,r,g,b\n0,0,51,51,51\n");
}

TEST(WritePixelCsv, RefusesWhatHasNoColumns) {
  const TempDir dir;
  for (const Shape& shape : {Shape{2, 2, 4}, Shape{2, 2, 2}, Shape{4}, Shape{0, 3}, Shape{3, 0, 3}})
    EXPECT_THROW(write_pixel_csv(dir / "a", empty(shape)), ShapeError) << shape;
  EXPECT_THROW(write_pixel_csv(dir / "a", Tensor::of({1, 1}, {NAN})), Error);
  EXPECT_EQ(test::count_entries(dir.path()), 0u);
  EXPECT_EQ(thrown_by<IoError>([&] {
              write_pixel_csv("/dev/full", Tensor::of({1, 1}, {0}));
            }).kind(),
            Kind::unwritable);
}

TEST(PixelCsv, BringsEveryEightBitPictureBackExactly) {
  const TempDir dir;
  for (const std::int64_t channels : {1, 3}) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < 256 * channels; ++i) values.push_back(static_cast<float>(i % 256) / 255.0f);
    const Tensor image = Tensor::from<float>({16, 16, channels}, values);
    write_pixel_csv(dir / "a.csv", image);
    EXPECT_EQ(read_pixel_csv(dir / "a.csv").values<float>(), values);
  }
}

TEST(PixelCsv, BringsTheCubBackByteForByte) {
  const TempDir dir;
  write_pixel_csv(dir / "a.csv", read_image(VELDT_SOURCE "/assets/cub.png"));
  EXPECT_EQ(bytes_of(dir / "a.csv").substr(0, 16), "x,y,pixel_value\n");
  write_image(dir / "a.png", read_pixel_csv(dir / "a.csv"), {.bits = 1});
  EXPECT_EQ(read_image(dir / "a.png").values<float>(),
            read_image(VELDT_SOURCE "/assets/cub.png").values<float>());
  write_pixel_csv(dir / "b.csv", read_image(dir / "a.png"));
  EXPECT_EQ(bytes_of(dir / "b.csv"), bytes_of(dir / "a.csv"));
}

TEST(PixelCsv, HandlesAMillionPixelsInTwoSeconds) {
  const TempDir dir;
  std::vector<float> values(1000000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 251) / 255.0f;
  const Tensor image = Tensor::from<float>({1000, 1000, 1}, values);
  const std::clock_t start = std::clock();
  write_pixel_csv(dir / "a.csv", image);
  const Tensor read = read_pixel_csv(dir / "a.csv");
  EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC);
  EXPECT_EQ(read.values<float>(), values);
}

}  // namespace
}  // namespace veldt::io
