// JPEG and WebP: files that Pillow made (tests/golden/pictures.py), hostile ones, and what Veldt writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>  // jpeglib.h needs it
#include <cstdlib>

#include <jpeglib.h>
#include <nlohmann/json.hpp>

#include "tests/io/faults.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/image.h"
#include "veldt/io/magic.h"

namespace veldt::io {
namespace {

using test::bytes_of;
using test::count_entries;
using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;
using Kind = IoError::Kind;

const std::string kFolder = VELDT_SOURCE "/tests/golden/pictures/";

nlohmann::json golden_pictures() { return nlohmann::json::parse(bytes_of(kFolder + "pictures.json")); }

// The levels as Pillow decoded them.
std::vector<float> levels_of(const nlohmann::json& picture) {
  const auto hex = picture["levels"].get<std::string>();
  std::vector<float> levels;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    levels.push_back(static_cast<float>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return levels;
}

double largest_difference(const Tensor& image, const std::vector<float>& levels) {
  const std::vector<float> values = image.values<float>();
  EXPECT_EQ(values.size(), levels.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(values.size(), levels.size()); ++i)
    largest = std::max(largest, std::fabs(255.0 * values[i] - levels[i]));
  return largest;
}

TEST(ReadPictures, AgreesWithPillowOnEveryKindOfFile) {
  const nlohmann::json pictures = golden_pictures();
  for (const auto& [name, expected] : pictures.items()) {
    const Tensor image = read_image(kFolder + name);
    EXPECT_EQ(image.shape(), (Shape{expected["height"], expected["width"], expected["channels"]})) << name;
    // WebP and inks aside, all decoders of a JPEG agree but for the rounding of one step.
    const double allowed = name.starts_with("inks") ? 1.01 : name.ends_with(".webp") ? 0 : 1;
    EXPECT_LE(largest_difference(image, levels_of(expected)), allowed + 1e-4) << name;
  }
}

// What is kept as bytes is the same picture in a quarter of the memory.
TEST(ReadPictures, KeepsTheBytesOfEveryKindOfFile) {
  const nlohmann::json pictures = golden_pictures();
  const auto expect_kept = [](const std::string& path, bool has_bytes) {
    const Tensor levels = read_image(path), kept = read_image(path, {.keep_bytes = true});
    ASSERT_EQ(kept.dtype(), has_bytes ? DType::u8 : DType::f32) << path;
    ASSERT_EQ(kept.shape(), levels.shape()) << path;
    std::vector<float> values;
    if (has_bytes)
      for (const std::uint8_t v : kept.values<std::uint8_t>())
        values.push_back(static_cast<float>(v) / 255.0f);
    EXPECT_EQ(has_bytes ? values : kept.values<float>(), levels.values<float>()) << path;
  };
  for (const auto& [name, expected] : pictures.items())
    expect_kept(kFolder + name, !name.starts_with("inks"));
  const TempDir dir;
  for (const int bits : {1, 8, 16}) {
    write_image(dir / "p.png", read_image(kFolder + "grey.jpg"), {.bits = bits});
    expect_kept(dir / "p.png", bits <= 8);
  }
  // An alpha that is opaque everywhere is dropped from bytes too.
  const Tensor opaque = Tensor::of({1, 2, 2}, {0.2, 1, 0.4, 1});
  write_image(dir / "opaque.png", opaque);
  EXPECT_EQ(read_image(dir / "opaque.png", {.keep_bytes = true}).values<std::uint8_t>(),
            (std::vector<std::uint8_t>{51, 102}));
}

TEST(ReadPictures, TellsTheSizeThatReadingGives) {
  const nlohmann::json pictures = golden_pictures();
  for (const auto& [name, expected] : pictures.items()) {
    const ImageInfo info = image_info(kFolder + name);
    EXPECT_EQ(info.format, name.ends_with(".jpg") ? ImageFormat::jpeg : ImageFormat::webp) << name;
    EXPECT_EQ(info.width, expected["width"]) << name;
    EXPECT_EQ(info.height, expected["height"]) << name;
    EXPECT_EQ(info.channels, expected["channels"]) << name;
    EXPECT_EQ(info.bit_depth, 8);
    EXPECT_EQ(info.interlaced, name == "progressive.jpg");
  }
}

TEST(ReadPictures, GoesByContentAndNotByName) {
  const TempDir dir;
  put_bytes(dir / "wrong.png", bytes_of(kFolder + "grey.jpg"));
  EXPECT_EQ(image_info(dir / "wrong.png").format, ImageFormat::jpeg);
  put_bytes(dir / "wrong.jpg", bytes_of(kFolder + "lossless.webp"));
  EXPECT_EQ(image_info(dir / "wrong.jpg").format, ImageFormat::webp);
}

IoError error_of_picture(const std::string& bytes, const ReadOptions& options = {}) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a", bytes);
  return thrown_by<IoError>([&] { read_image(dir / "a", options); });
}

TEST(ReadPictures, TakesTheFirstFrameOfAnAnimation) {
  const auto [image, info] = read_picture(kFolder + "animation.webp");
  EXPECT_EQ(info.pictures, 2);
  EXPECT_EQ(left_out(info), "has 2 pictures; the first is taken");
  EXPECT_EQ(image.shape(), (Shape{13, 20, 3}));
  EXPECT_EQ(image.values<float>(), read_image(kFolder + "lossless.webp").values<float>());
}

TEST(ReadPictures, HoldsToMaxPixels) {
  for (const char* name : {"grey.jpg", "lossless.webp"}) {
    EXPECT_EQ(read_image(kFolder + name, {.max_pixels = 260, .keep_bytes = true}).size(0), 13);
    const IoError error =
        thrown_by<IoError>([&] { read_image(kFolder + name, {.max_pixels = 259, .keep_bytes = true}); });
    EXPECT_EQ(error.kind(), Kind::malformed);
    EXPECT_TRUE(says(error, "260 pixels and 259 are allowed")) << error.what();
  }
}

// Inks become light that is no byte, so it takes four.
TEST(ReadPictures, CountsTheLightOfInksAsFourBytes) {
  const std::string path = kFolder + "inks_ycck.jpg";
  const ImageInfo info = image_info(path);
  const std::int64_t samples = 3 * info.width * info.height;
  EXPECT_EQ(read_image(path, {.max_pixels = samples, .keep_bytes = true}).dtype(), DType::f32);
  const IoError error =
      thrown_by<IoError>([&] { read_image(path, {.max_pixels = samples - 1, .keep_bytes = true}); });
  EXPECT_TRUE(says(error, "of 3 samples, each of which takes 4 bytes")) << error.what();
}

std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string riff_chunk(const std::string& name, std::string data) {
  const auto length = static_cast<std::uint32_t>(data.size());
  if (data.size() % 2 != 0) data += '\0';
  return name + little_endian(length, 4) + data;
}

// An extended WebP of these chunks.
std::string extended_webp(int flags, std::uint32_t width, std::uint32_t height, const std::string& chunks) {
  const std::string header = little_endian(static_cast<std::uint32_t>(flags), 4) +
                             little_endian(width - 1, 3) + little_endian(height - 1, 3);
  return riff_chunk("RIFF", "WEBP" + riff_chunk("VP8X", header) + chunks);
}

TEST(ReadPictures, TellsOfAProfileOfAWebp) {
  const std::string pixels = bytes_of(kFolder + "lossless.webp").substr(12);
  const auto with_profile = [&](const std::string& profile) {
    const TempDir dir = TempDir::in_memory();
    put_bytes(
        dir / "a",
        extended_webp(0x24, 20, 13, riff_chunk("ICCP", profile) + pixels + riff_chunk("XMP ", "not sRGB")));
    EXPECT_EQ(read_image(dir / "a").size(0), 13);
    return image_info(dir / "a").other_profile;
  };
  EXPECT_TRUE(with_profile("this is Display P3"));  // whatever is said elsewhere
  EXPECT_FALSE(with_profile("this is sRGB"));
}

TEST(ReadPictures, RefusesAWebpWhoseCanvasIsMuchMoreThanItsFile) {
  const std::string pixels = bytes_of(kFolder + "lossless.webp").substr(12);
  const auto animation = [&](std::uint32_t side) {
    const std::string frame =
        little_endian(0, 6) + little_endian(19, 3) + little_endian(12, 3) + little_endian(0, 4) + pixels;
    return extended_webp(2, side, side, riff_chunk("ANIM", little_endian(0, 6)) + riff_chunk("ANMF", frame));
  };
  const IoError error = error_of_picture(animation(16384), {.keep_bytes = true});
  EXPECT_TRUE(says(error, "its canvas of 16384 x 16384 is more than")) << error.what();
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a", animation(2000));
  EXPECT_EQ(read_image(dir / "a", {.keep_bytes = true}).shape(), (Shape{2000, 2000, 4}));
}

// The bytes after a marker's length: for changing what a segment says.
std::size_t segment(const std::string& jpeg, unsigned char marker) {
  const std::size_t at = jpeg.find(std::string{'\xff', static_cast<char>(marker)});
  EXPECT_NE(at, std::string::npos);
  return at + 4;
}

TEST(ReadPictures, RefusesAJpegThatCannotHoldItsPixels) {
  std::string bytes = bytes_of(kFolder + "grey.jpg");
  const std::size_t frame = segment(bytes, 0xc0);
  for (const std::size_t i : {1u, 3u}) bytes[frame + i] = '\x30';  // 12,308 x 12,3xx
  const IoError error = error_of_picture(bytes);
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, "ends too early")) << error.what();
}

// A progressive grey JPEG of two scans: what all blocks have in common, then the details.
std::string two_scans() {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&jpeg, &memory, &bytes);
  jpeg.image_width = jpeg.image_height = 16;
  jpeg.input_components = 1;
  jpeg.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&jpeg);
  const jpeg_scan_info scans[] = {{1, {0}, 0, 0, 0, 0}, {1, {0}, 1, 63, 0, 0}};
  jpeg.scan_info = scans;
  jpeg.num_scans = 2;
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<JSAMPLE> row(16, 99);
  JSAMPROW from = row.data();
  while (jpeg.next_scanline < 16) jpeg_write_scanlines(&jpeg, &from, 1);
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string result(reinterpret_cast<char*>(memory), bytes);
  std::free(memory);
  return result;
}

TEST(ReadPictures, RefusesAJpegOfEndlessScans) {
  const std::string whole = two_scans();
  const std::size_t first = whole.find("\xff\xda"), second = whole.find("\xff\xc4", first);
  const auto repeated = [&](int times) {
    std::string bytes = whole.substr(0, first);
    for (int i = 0; i < times; ++i) bytes += whole.substr(first, second - first);
    return bytes + whole.substr(second);
  };
  const TempDir dir;
  put_bytes(dir / "a.jpg", repeated(20));
  EXPECT_EQ(read_image(dir / "a.jpg").shape(), (Shape{16, 16, 1}));
  const IoError error = error_of_picture(repeated(1000));
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, "scans")) << error.what();
}

TEST(ReadPictures, TakesWarningsOfLibjpegForErrors) {
  std::string bytes = bytes_of(kFolder + "rgb_444.jpg");
  bytes.insert(bytes.size() - 2, "surplus");  // libjpeg: "extraneous bytes before marker"
  const IoError error = error_of_picture(bytes);
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, "extraneous")) << error.what();
}

TEST(ReadPictures, IgnoresExifThatMakesNoSense) {
  const std::string whole = bytes_of(kFolder + "orientation_6.jpg");
  const std::size_t exif = segment(whole, 0xe1), length = whole.find("\xff\xdb") - exif;
  const Tensor upright = read_image(kFolder + "orientation_1.jpg");
  int turned = 0;
  for (std::size_t i = 0; i < length; ++i)
    for (const int value : {0x00, 0x01, 0x7f, 0xff}) {
      std::string bytes = whole;
      bytes[exif + i] = static_cast<char>(value);
      const TempDir dir = TempDir::in_memory();
      put_bytes(dir / "a", bytes);
      const Tensor image = read_image(dir / "a");  // wrong metadata are no reason to refuse a picture
      ASSERT_EQ(image.numel(), upright.numel());
      turned += image.shape() == upright.shape() ? 0 : 1;
    }
  EXPECT_GT(turned, 0);                             // a few bytes do not matter
  EXPECT_LT(turned, static_cast<int>(4 * length));  // most do
}

TEST(ReadPictures, RefusesAPictureCutAtAnyLength) {
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".json") continue;
    const std::string whole = bytes_of(entry.path());
    for (std::size_t length = 0; length < whole.size(); ++length)
      ASSERT_EQ(error_of_picture(whole.substr(0, length)).kind(), Kind::malformed)
          << entry.path() << " cut at " << length;
  }
}

TEST(ReadPictures, SurvivesAnyByteFlipped) {
  const TempDir dir = TempDir::in_memory();
  for (const char* name : {"grey.jpg", "progressive.jpg", "inks_ycck.jpg", "orientation_8.jpg",
                           "lossless.webp", "lossy_alpha.webp", "animation.webp"}) {
    const std::string whole = bytes_of(kFolder + name);
    int refused = 0;
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (const int flip : {1 << (i % 8), 0xff}) {
        std::string bytes = whole;
        bytes[i] = static_cast<char>(bytes[i] ^ flip);
        put_bytes(dir / "a", bytes);
        try {
          const Tensor image = read_image(dir / "a", {.max_pixels = 1 << 16});
          ASSERT_LE(image.size(0) * image.size(1), 1 << 16);
        } catch (const IoError& error) {
          ASSERT_EQ(error.kind(), Kind::malformed) << error.what();
          ++refused;
        }
      }
    EXPECT_GT(refused, 20) << name;  // neither format has checksums: most flips give another picture
  }
}

// Every level of every channel, smooth enough for a JPEG.
Tensor gradient(const Shape& shape) {
  std::vector<float> values;
  for (std::int64_t y = 0; y < shape[0]; ++y)
    for (std::int64_t x = 0; x < shape[1]; ++x)
      for (std::int64_t c = 0; c < shape[2]; ++c)
        values.push_back(static_cast<float>((x * (c + 1) + 2 * y) % 256) / 255.0f);
  return Tensor::from<float>(shape, values);
}

double rms(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  const std::vector<float> x = a.values<float>(), y = b.values<float>();
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

TEST(WritePictures, BringsEveryLevelBackExactlyFromALosslessWebP) {
  const TempDir dir;
  for (const Shape& shape : {Shape{16, 64, 3}, Shape{16, 64, 4}, Shape{1, 1, 3}}) {
    const Tensor image = gradient(shape);
    write_image(dir / "a.webp", image);
    EXPECT_EQ(image_info(dir / "a.webp").format, ImageFormat::webp);
    EXPECT_EQ(read_image(dir / "a.webp").values<float>(), image.values<float>()) << shape;
  }
  const Tensor grey = gradient({16, 64, 1});
  write_image(dir / "grey.webp", grey);
  const Tensor back = read_image(dir / "grey.webp");
  EXPECT_EQ(back.shape(), (Shape{16, 64, 3}));
  for (std::int64_t i = 0; i < grey.numel(); ++i)
    for (std::int64_t c = 0; c < 3; ++c) ASSERT_EQ(back.data<float>()[3 * i + c], grey.data<float>()[i]);
  EXPECT_EQ(count_entries(dir.path()), 2u);
}

TEST(WritePictures, LosesLessTheHigherTheQuality) {
  const TempDir dir;
  for (const char* name : {"a.jpg", "a.webp", "A.JPEG"}) {
    const Tensor image = gradient({64, 96, 3});
    double last = 1;
    std::size_t bytes = 0;
    for (const int quality : {10, 50, 95}) {
      write_image(dir / name, image, {.quality = quality});
      const double loss = rms(read_image(dir / name), image);
      EXPECT_LT(loss, last) << name << quality;
      EXPECT_GT(bytes_of(dir / name).size(), bytes) << name << quality;
      last = loss;
      bytes = bytes_of(dir / name).size();
    }
    EXPECT_LT(last, 0.06) << name;
  }
}

TEST(WritePictures, WritesGreyJpegsOfOneChannel) {
  const TempDir dir;
  const Tensor image = gradient({40, 50, 1});
  write_image(dir / "a.jpg", image);
  EXPECT_EQ(image_info(dir / "a.jpg").channels, 1);
  EXPECT_LT(rms(read_image(dir / "a.jpg"), image), 0.02);
}

TEST(WritePictures, TakesRowsInAnyPortions) {
  const TempDir dir;
  const Tensor image = gradient({10, 7, 3});
  for (const char* name : {"a.jpg", "a.webp"}) {
    ImageWriter writer(dir / name, {7, 10}, 3);
    const float* rows = image.data<float>();
    for (const std::int64_t count : {1, 0, 4, 5}) {
      writer.write_rows(rows, count);
      rows += count * 21;
    }
    EXPECT_FALSE(std::filesystem::exists(dir / name));
    writer.finish();
    write_image(dir / (std::string("whole_") + name), image);
    EXPECT_EQ(bytes_of(dir / name), bytes_of(dir / (std::string("whole_") + name)));
  }
}

TEST(WritePictures, RefusesWhatAFormatCannotHold) {
  const TempDir dir;
  const Tensor rgb = gradient({4, 4, 3});
  EXPECT_THROW(write_image(dir / "a.jpg", gradient({4, 4, 4})), ShapeError);
  EXPECT_THROW(write_image(dir / "a.jpg", gradient({4, 4, 2})), ShapeError);
  EXPECT_THROW(write_image(dir / "a.jpg", empty({1, 65501, 1})), ShapeError);
  EXPECT_THROW(write_image(dir / "a.webp", empty({16384, 1, 1})), ShapeError);
  EXPECT_THROW(write_image(dir / "a.jpg", rgb, {.bits = 16}), ConfigError);
  EXPECT_THROW(write_image(dir / "a.webp", rgb, {.bits = 1}), ConfigError);
  EXPECT_THROW(write_image(dir / "a.png", rgb, {.quality = 90}), ConfigError);
  EXPECT_THROW(write_image(dir / "a.jpg", rgb, {.quality = 101}), ConfigError);
  EXPECT_THROW(write_image(dir / "a.jpg", rgb, {.quality = -1}), ConfigError);
  EXPECT_THROW(write_image(dir / "a.gif", rgb), ConfigError);
  EXPECT_EQ(count_entries(dir.path()), 0u);
}

TEST(WritePictures, ChoosesTheFormatByTheName) {
  EXPECT_EQ(format_for_name("a.b/c.JPG"), ImageFormat::jpeg);
  EXPECT_EQ(format_for_name("a.webp"), ImageFormat::webp);
  EXPECT_EQ(format_for_name("/dev/stdout"), ImageFormat::png);
  EXPECT_EQ(format_for_name("a.b/c"), ImageFormat::png);
  EXPECT_EQ(format_for_name(".hidden"), ImageFormat::png);
  EXPECT_THROW(format_for_name("a.png.bak"), ConfigError);
}

TEST(WritePictures, ReportsAPlaceThatCannotBeWritten) {
  const TempDir dir;
  const Tensor image = gradient({64, 64, 3});
  for (const char* name : {"none/a.jpg", "none/a.webp"})
    EXPECT_EQ(thrown_by<IoError>([&] { write_image(dir / name, image); }).kind(), Kind::unwritable) << name;
}

TEST(CrashWritePictures, LeavesTheOldPictureOnAFullDisk) {
  const TempDir dir;
  const test::SmallDisk disk(dir / "disk");
  if (!disk.active()) GTEST_SKIP() << "mounting needs root";
  // Noise, which no format can shrink.
  std::vector<float> noise;
  std::uint32_t state = 1;
  for (int i = 0; i < 512 * 512; ++i)
    noise.push_back(static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) / 16777216.0f);
  const Tensor large = Tensor::from<float>({512, 512, 1}, noise);
  for (const char* name : {"disk/a.jpg", "disk/a.webp"}) {
    write_image(dir / name, gradient({8, 8, 3}));
    const std::string before = bytes_of(dir / name);
    const IoError error = thrown_by<IoError>([&] { write_image(dir / name, large); });
    EXPECT_EQ(error.kind(), Kind::unwritable);
    EXPECT_TRUE(says(error, "No space left")) << error.what();
    EXPECT_EQ(bytes_of(dir / name), before);
  }
  EXPECT_EQ(count_entries(dir / "disk"), 2u);
}

TEST(SlowPictures, ReadsAndWritesPhotographs) {
  const std::string data = VELDT_DATA;
  if (data.empty()) GTEST_SKIP() << "VELDT_DATA is not set";
  const Tensor albert = read_image(data + "/pictures/albert.jpg");
  EXPECT_EQ(albert.shape(), (Shape{4333, 3250, 1}));
  const Tensor photo = read_image(data + "/kodak/kodim03.png");
  const TempDir dir;
  write_image(dir / "a.webp", photo);
  EXPECT_EQ(read_image(dir / "a.webp").values<float>(), photo.values<float>());
  write_image(dir / "a.jpg", photo);
  EXPECT_LT(rms(read_image(dir / "a.jpg"), photo), 0.01);  // 40 dB
  write_image(dir / "b.webp", photo, {.quality = 90});
  EXPECT_LT(rms(read_image(dir / "b.webp"), photo), 0.02);
}

TEST(Magic, NamesWhatAFileSeemsToBe) {
  using namespace std::string_view_literals;
  EXPECT_EQ(known_content("II*\0...."sv), "a TIFF");
  EXPECT_EQ(known_content("\0\0\0\x1c"
                          "ftypavif"sv),
            "an AVIF");
  EXPECT_EQ(known_content("RIFF\x10\0\0\0WAVEfmt "sv), "a WAV");
  EXPECT_THAT(known_content("\x08\x09\x12\x07pytorch"sv), testing::StartsWith("an ONNX graph"));
  EXPECT_EQ(known_content("RIFF\x10\0"sv), "a RIFF file");
  EXPECT_EQ(known_content("\x10\0\0\0\0\0\0\0{\"w\""sv), "a safetensors file");
  EXPECT_EQ(known_content("abcdefgh{"), "");
  EXPECT_EQ(known_content("hello"), "");
  EXPECT_EQ(picture_format("RIFF\x10\0\0\0WEBPVP8 "sv), ImageFormat::webp);
  EXPECT_EQ(picture_format("\x89PNG\n\x1a\n...."sv), std::nullopt);
  EXPECT_EQ(seems_to_be(""), "the file is empty");
  EXPECT_EQ(seems_to_be("hello"), "it seems to be text");
}

}  // namespace
}  // namespace veldt::io
