// Pictures of every format, how a camera was held, and tables of pixels.
#include <zlib.h>

#include <cstdint>
#include <span>

#ifdef VELDT_TIFF_SONAME
#include "tests/codecs/make_tiff.h"
#endif
#ifdef VELDT_AVIF_SONAME
#include "tests/codecs/make_avif.h"
#endif
#ifdef VELDT_HEIF_SONAME
#include "tests/codecs/make_heif.h"
#endif
#ifdef VELDT_JXL_SONAME
#include "tests/codecs/make_jxl.h"
#endif
#include "tests/fuzz/target.h"
#include "tests/io/make_bmp.h"
#include "tests/io/make_gif.h"
#include "veldt/io/animation.h"
#include "veldt/io/clip.h"
#include "veldt/io/exif.h"
#include "veldt/io/image.h"
#include "veldt/io/pixel_csv.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::fuzz {
namespace {

constexpr io::ReadOptions kSmall{.max_pixels = 1 << 16};

// With a few of the levels that `bits` tell apart.
Tensor picture(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Rng rng(7);
  return rand({height, width, channels}, rng);
}

Tensor read_and_compare_info(const std::string& path) {
  const Tensor image = io::read_image(path, kSmall);
  const io::ImageInfo info = io::image_info(path);
  require(info.height == image.size(0) && info.width == image.size(1),
          "a picture has the size it is said to");
  if (info.by_rows) {
    io::ImageReader reader(path, kSmall);
    require(same(reader.read_rows(reader.height()), image), "a picture's rows are the picture");
  }
  return image;
}

std::uint32_t big_endian_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// Every chunk gets the checksum of what it holds now, or none but whole ones would be looked at.
std::string with_checksums(std::string png) {
  std::size_t at = 8;
  while (at + 12 <= png.size()) {
    const std::size_t length = big_endian_at(png, at);
    if (length > png.size() - at - 12) break;
    const auto* chunk = reinterpret_cast<const Bytef*>(png.data()) + at + 4;
    const auto crc = static_cast<std::uint32_t>(::crc32(0, chunk, static_cast<uInt>(length + 4)));
    for (std::size_t i = 0; i < 4; ++i) png[at + 8 + length + i] = static_cast<char>(crc >> (24 - 8 * i));
    at += length + 12;
  }
  return png;
}

void read_png(const std::string& bytes) {
  const std::string& path = file_of(with_checksums(bytes));
  const Tensor image = read_and_compare_info(path);
  const std::string copy = scratch("copy.png");
  io::write_image(copy, image, {.bits = io::image_info(path).bit_depth == 16 ? 16 : 8, .compression = 1});
  require(same(io::read_image(copy), image), "a picture that is written and read again is the same");
}

std::vector<std::string> png_seeds() {
  std::vector<std::string> seeds;
  for (const std::int64_t channels : {1, 2, 3, 4})
    for (const int bits : {1, 8, 16})
      if (bits > 1 || channels == 1)
        seeds.push_back(written("a.png", [&](const std::string& path) {
          io::write_image(path, picture(3, 5, channels), {.bits = bits});
        }));
  return seeds;
}

std::vector<std::string> png_words() {
  return {"IHDR", "PLTE", "tRNS", "IDAT", "IEND", "gAMA", "sRGB", "iCCP", "bKGD", "sBIT", "acTL", "eXIf"};
}

void read_frames(const std::string& path) {
  const io::Clip clip = io::read_clip(path, kSmall);
  require(clip.frames.size(0) == std::ssize(clip.seconds) && clip.duration() > 0, "each frame is shown");
  require(clip.frames.size(1) * clip.frames.size(2) * clip.frames.size(0) <= kSmall.max_pixels,
          "a clip is within its limit");
}

void read_apng(const std::string& bytes) { read_frames(file_of(with_checksums(bytes))); }
void read_gif_frames(const std::string& bytes) { read_frames(file_of(bytes)); }

std::vector<std::string> apng_seeds() {
  std::vector<std::string> seeds;
  for (const int channels : {3, 4})
    seeds.push_back(written("a.apng", [channels](const std::string& path) {
      io::Animation film({3, 2}, channels);
      for (const int level : {0, 7, 9}) {
        std::vector<std::uint8_t> pixels(static_cast<std::size_t>(6 * channels), 200);
        pixels[static_cast<std::size_t>(level)] = static_cast<std::uint8_t>(level);
        film.add(pixels, 0.1);
      }
      film.write(path);
    }));
  return seeds;
}

std::vector<std::string> apng_words() { return {"acTL", "fcTL", "fdAT", "IDAT", "PLTE", "tRNS", "IEND"}; }

void read_picture(const std::string& bytes) { read_and_compare_info(file_of(bytes)); }

std::vector<std::string> jpeg_seeds() { return files_in("tests/golden/pictures", ".jpg"); }

std::vector<std::string> webp_seeds() { return files_in("tests/golden/pictures", ".webp"); }

std::vector<std::string> gif_seeds() {
  const std::string palette("\0\0\0\x30\x30\x30\x90\x80\x70\xff\xff\xff", 12);
  test::GifFrame frame{.width = 4, .height = 2, .numbers = {0, 1, 2, 3, 3, 2, 1, 0}};
  frame.interlaced = true;
  test::GifFrame part{
      .left = 1, .top = 1, .width = 2, .numbers = {0, 1}, .palette = palette, .transparent = 1};
  return {test::make_gif(4, 2, palette, {frame}), test::make_gif(4, 2, "", {part, frame})};
}

std::vector<std::string> bmp_seeds() {
  const std::vector<std::uint32_t> colours{0, 0x808080, 0xff};
  return {test::make_bmp({.width = 3, .bits = 8, .palette = colours}, std::string("\0\x01\x02\0", 4)),
          test::make_bmp({.width = 4, .bits = 8, .packing = 1, .palette = colours},
                         std::string("\x02\x01\0\x02\x01\0\0\x01", 8)),
          test::make_bmp({.width = 4, .bits = 4, .packing = 2, .palette = colours},
                         std::string("\x04\x12\0\x01", 4)),
          test::make_bmp({.bits = 16}, "\x7f\x7f\x7f\x7f"),
          test::make_bmp({.bits = 32, .packing = 6, .masks = {0xff, 0xff00, 0xff0000, 0xff000000}}, "abcd")};
}

std::vector<std::string> pnm_seeds() {
  return {"P1 2 1 0 1",
          "P2 # \n2 1 9\n1 9",
          "P3 1 1 255 1 2 3",
          "P4 9 1\nab",
          "P5 2 1 65535\nabcd",
          "P6 1 1 255\nabcP6 1 1 255\nabc",
          "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\nabcd"};
}

// Each empty where this build has not the library.
std::vector<std::string> tiff_seeds() {
  std::vector<std::string> seeds;
#ifdef VELDT_TIFF_SONAME
  const std::vector<std::uint16_t> ramp{0, 1000, 2000, 65535};
  seeds = {test::make_tiff({}, test::some_levels(3, 2, 3, 8)),
           test::make_tiff({.compression = COMPRESSION_LZW, .planar = true, .pages = 2},
                           test::some_levels(3, 2, 4, 16)),
           test::make_tiff({.compression = COMPRESSION_ADOBE_DEFLATE, .tile = 16, .orientation = 6},
                           test::some_levels(3, 2, 1, 8)),
           test::make_tiff({.kind = PHOTOMETRIC_PALETTE, .palette = {ramp, ramp, ramp}},
                           test::some_levels(3, 2, 1, 2)),
           test::make_tiff({.kind = PHOTOMETRIC_YCBCR}, test::some_levels(3, 2, 3, 8))};
#endif
  return seeds;
}

std::vector<std::string> avif_seeds() {
  std::vector<std::string> seeds;
#ifdef VELDT_AVIF_SONAME
  seeds = {test::make_avif({}, test::some_levels(3, 2, 1, 8)),
           test::make_avif({.quarters = 1, .mirror = 0}, test::some_levels(3, 2, 4, 10)),
           test::make_avif({.frames = 2, .crop = {0, 0, 4, 4}}, test::some_levels(8, 8, 3, 8))};
#endif
  return seeds;
}

std::vector<std::string> heif_seeds() {
  std::vector<std::string> seeds;
#ifdef VELDT_HEIF_SONAME
  if (test::heif_is_whole())
    seeds = {test::make_heif({.orientation = 6}, {64, 64, 3, 8, std::vector<int>(64 * 64 * 3, 70)}),
             test::make_heif({.pictures = 2}, {64, 64, 4, 10, std::vector<int>(64 * 64 * 4, 70)})};
#endif
  return seeds;
}

std::vector<std::string> jxl_seeds() {
  std::vector<std::string> seeds;
#ifdef VELDT_JXL_SONAME
  seeds = {test::make_jxl({}, test::some_levels(3, 2, 4, 8)),
           test::make_jxl({.lossless = false}, test::some_levels(9, 9, 3, 8)),
           test::make_jxl({.orientation = 6, .frames = 2}, test::some_levels(3, 2, 1, 16))};
#endif
  return seeds;
}

void read_exif(const std::string& bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const int orientation = io::exif_orientation({data, bytes.size()});
  require(orientation >= 1 && orientation <= 8, "there are eight orientations");
  const Shape turned = io::oriented(picture(2, 3, 1), orientation).shape();
  require(turned == (io::swaps_sides(orientation) ? Shape{3, 2, 1} : Shape{2, 3, 1}), "turning swaps sides");
}

// The TIFF of one tag, in either byte order, after the marker and the length of a camera's APP1 segment.
std::vector<std::string> exif_seeds() {
  using namespace std::string_literals;
  const std::string head = "Exif\0\0"s;
  return {head + "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"s,
          head + "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x03\0\0\0\0\0\0"s};
}

// What was read is written in levels of a byte; from there on nothing is lost.
void read_pixels(const std::string& bytes) {
  const auto written_again = [](const Tensor& image) {
    io::write_pixel_csv(scratch("copy.csv"), image);
    return io::read_pixel_csv(scratch("copy.csv"));
  };
  const Tensor levels = written_again(io::read_pixel_csv(file_of(bytes), {.max_pixels = 1 << 12}));
  require(same(written_again(levels), levels), "a table that is written and read again is the same");
}

std::vector<std::string> pixel_seeds() {
  std::vector<std::string> seeds;
  for (const std::int64_t channels : {1, 3})
    seeds.push_back(written(
        "a.csv", [&](const std::string& path) { io::write_pixel_csv(path, picture(2, 3, channels)); }));
  seeds.push_back(written("a.csv", [](const std::string& path) {
    io::write_pixel_csv(path, ones({2, 2, 1}));
  }));
  return seeds;
}

std::vector<std::string> pixel_words() {
  return {"x,y,pixel_value\n", "x,y,grey\n", "x,y,r,g,b\n", "1e-3", "\r\n"};
}

}  // namespace

std::vector<Target> picture_targets() {
  return {{"png", read_png, png_seeds, png_words},
          {"jpeg", read_picture, jpeg_seeds},
          {"webp", read_picture, webp_seeds},
          {"gif", read_picture, gif_seeds},
          {"apng", read_apng, apng_seeds, apng_words},
          {"gif_frames", read_gif_frames, gif_seeds},
          {"bmp", read_picture, bmp_seeds},
          {"pnm", read_picture, pnm_seeds},
          {"tiff", read_picture, tiff_seeds},
          {"avif", read_picture, avif_seeds},
          {"heif", read_picture, heif_seeds},
          {"jxl", read_picture, jxl_seeds},
          {"exif", read_exif, exif_seeds},
          {"pixel_csv", read_pixels, pixel_seeds, pixel_words}};
}

}  // namespace veldt::fuzz
