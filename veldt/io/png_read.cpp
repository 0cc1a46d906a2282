// Reads PNG.
#include "veldt/io/image_codec.h"

#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/guarded.h"
#include "veldt/io/png_errors.h"

namespace veldt::io {
namespace {

constexpr std::uint32_t kMaxPngSide = 0x7fffffff;  // the format's own limit

void on_read(png_structp png, png_bytep to, std::size_t bytes) {
  auto* file = static_cast<InputFile*>(png_get_io_ptr(png));
  bool whole = false;
  try {
    whole = file->read(to, bytes) == bytes;
  } catch (...) {
    static_cast<PngFailure*>(png_get_error_ptr(png))->thrown = std::current_exception();
  }
  if (!whole) png_error(png, "the file ends too early");
}

std::uint32_t png_number(const unsigned char* b) {
  return (std::uint32_t{b[0]} << 24) | (std::uint32_t{b[1]} << 16) | (std::uint32_t{b[2]} << 8) | b[3];
}

class PngDecoder final : public ImageDecoder {
 public:
  explicit PngDecoder(InputFile& file) : file_(file) {
    check_head();
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &failure_, on_png_error, ignore_png_warning);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw OutOfMemory("cannot read " + file_.path(), "no memory for libpng's state", "free some memory");
    }
    try {
      read_info();
    } catch (...) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw;
    }
  }
  ~PngDecoder() override { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  const ImageInfo& info() const override { return image_; }
  Tensor read() override;
  void begin_rows() override;
  void read_row(void* to) override;

 private:
  template <class Calls> void call(const Calls& calls) {
    if (!guarded(png_jmpbuf(png_), calls)) fail(failure_.message.data());
  }
  [[noreturn]] void fail(const std::string& why) const {
    if (failure_.thrown) std::rethrow_exception(failure_.thrown);
    throw damaged_picture(file_.path(), ImageFormat::png, why);
  }
  void check_head();
  void check_capacity() const;
  void read_info();
  void read_kept_chunks();
  void set_transforms();
  bool palette_is_grey() const;
  std::vector<std::uint8_t> palette_levels() const;
  void end_rows();
  Tensor read_passes();
  void unpack_row(const unsigned char* row, void* to) const;

  InputFile& file_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  PngFailure failure_;
  ImageInfo image_;
  // While it is read.
  std::int64_t next_row_ = 0;
  bool is_wide_ = false;               // 16 bits a sample
  std::vector<std::uint8_t> palette_;  // the levels of its colours
  std::vector<unsigned char> row_;     // as libpng gives it
};

// Checks the sizes before libpng sees them.
void PngDecoder::check_head() {
  std::array<unsigned char, 24> head{};
  const std::size_t got = file_.read(head.data(), head.size());
  if (got < head.size()) fail("the file ends within its header");
  const std::uint32_t width = png_number(head.data() + 16);
  const std::uint32_t height = png_number(head.data() + 20);
  if (width == 0 || height == 0 || width > kMaxPngSide || height > kMaxPngSide)
    fail(str("its size of ", width, " x ", height, " is impossible"));
  file_.seek(0);
}

void PngDecoder::read_info() {
  png_structp png = png_;
  png_infop info = info_;
  InputFile* file = &file_;
  png_uint_32 width = 0, height = 0;
  int depth = 0, type = 0, interlace = 0;
  call([&, png, info, file] {
    png_set_read_fn(png, file, on_read);
    png_set_user_limits(png, kMaxPngSide, kMaxPngSide);
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    // Colour spaces, texts, EXIF and all unknown chunks are skipped; tRNS is not among them. Chunks about
    // frames and a profile are kept unparsed.
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    static const png_byte kKept[] = "acTL\0fcTL\0iCCP";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_ALWAYS, kKept, 3);
    png_read_info(png, info);
    png_get_IHDR(png, info, &width, &height, &depth, &type, &interlace, nullptr, nullptr);
  });
  const bool transparent = png_get_valid(png, info, PNG_INFO_tRNS) != 0 || (type & PNG_COLOR_MASK_ALPHA) != 0;
  image_ = {.format = ImageFormat::png, .width = width, .height = height, .bit_depth = depth};
  image_.palette = type == PNG_COLOR_TYPE_PALETTE;
  image_.interlaced = interlace != PNG_INTERLACE_NONE;
  image_.by_rows = !image_.interlaced;
  const bool colour = (type & PNG_COLOR_MASK_COLOR) != 0 && !(image_.palette && palette_is_grey());
  image_.channels = (colour ? 3 : 1) + (transparent ? 1 : 0);
  read_kept_chunks();
}

// An iCCP has a name, which may be anything, a zero, the method 0, and the profile packed by zlib. Unpacks as
// much of it as is searched for the profile's own name.
bool is_srgb_chunk(std::string_view chunk) {
  const std::size_t begin = chunk.find('\0') + 2;
  if (begin < 2 || begin > chunk.size()) return false;
  std::string profile(std::size_t{1} << 20, '\0');
  uLongf bytes = profile.size();
  ::uncompress(reinterpret_cast<Bytef*>(profile.data()), &bytes,
               reinterpret_cast<const Bytef*>(chunk.data() + begin),
               static_cast<uLong>(chunk.size() - begin));
  return is_srgb(std::string_view(profile).substr(0, bytes));
}

// APNG 1.0 (Mozilla, 2004): acTL has the number of frames; the default picture is the first of them if an
// fcTL precedes it, else it is an additional one.
void PngDecoder::read_kept_chunks() {
  png_unknown_chunkp chunks = nullptr;
  const int count = png_get_unknown_chunks(png_, info_, &chunks);
  bool is_animated = false, is_frame = false;
  for (const png_unknown_chunk& chunk : std::span(chunks, static_cast<std::size_t>(count))) {
    const std::string_view name(reinterpret_cast<const char*>(chunk.name)),
        data(reinterpret_cast<const char*>(chunk.data), chunk.size);
    if (name == "acTL" && data.size() >= 4) {
      is_animated = true;
      image_.pictures = std::max<std::int64_t>(png_number(chunk.data), 1);
    }
    if (name == "fcTL") is_frame = true;
    if (name == "iCCP") image_.other_profile = !is_srgb_chunk(data);
  }
  if (is_animated && !is_frame) ++image_.pictures;
}

bool PngDecoder::palette_is_grey() const {
  png_colorp colours = nullptr;
  int count = 0;
  png_get_PLTE(png_, info_, &colours, &count);
  return std::all_of(colours, colours + count,
                     [](const png_color& c) { return c.red == c.green && c.green == c.blue; });
}

void PngDecoder::check_capacity() const {
  // Deflate packs by a factor of 1032 at most, so this file cannot hold that many rows.
  const double bits = static_cast<double>(png_get_channels(png_, info_)) * image_.bit_depth;
  const double unpacked = static_cast<double>(image_.width) * static_cast<double>(image_.height) * bits / 8;
  if (unpacked > 1032.0 * static_cast<double>(file_.size())) fail("the file ends too early");
}

void PngDecoder::set_transforms() {
  png_structp png = png_;
  png_infop info = info_;
  const bool palette = image_.palette;
  call([png, info, palette] {
    if (palette) {
      png_set_packing(png);  // one index per byte; libpng would draw an index beyond the palette black
    } else {
      png_set_expand(png);  // 1 2 4 bits to 8, a transparent colour to alpha
    }
    if constexpr (std::endian::native == std::endian::little) png_set_swap(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
  });
}

void unpack_wide(const unsigned char* bytes, std::int64_t samples, float* out) {
  for (std::int64_t i = 0; i < samples; ++i) {
    std::uint16_t sample;
    std::memcpy(&sample, bytes + 2 * i, sizeof sample);
    out[i] = static_cast<float>(sample) / 65535.0f;
  }
}

// The colours of the palette, `channels` values each.
std::vector<std::uint8_t> PngDecoder::palette_levels() const {
  png_colorp colours = nullptr;
  png_bytep alphas = nullptr;
  int count = 0, alpha_count = 0;
  png_get_PLTE(png_, info_, &colours, &count);
  png_get_tRNS(png_, info_, &alphas, &alpha_count, nullptr);
  std::vector<std::uint8_t> levels;
  for (int i = 0; i < count; ++i) {
    const png_byte rgb[3] = {colours[i].red, colours[i].green, colours[i].blue};
    levels.insert(levels.end(), rgb, rgb + (image_.channels > 2 ? 3 : 1));
    if (image_.channels % 2 == 0) levels.push_back(i < alpha_count ? alphas[i] : 255);
  }
  return levels;
}

void PngDecoder::begin_rows() {
  check_capacity();
  set_transforms();
  is_wide_ = png_get_bit_depth(png_, info_) == 16;
  if (image_.palette) palette_ = palette_levels();
  row_.resize(png_get_rowbytes(png_, info_));
}

// What follows the rows is checked too.
void PngDecoder::end_rows() {
  png_structp png = png_;
  call([png] { png_read_end(png, nullptr); });
}

// Bytes to samples of dtype().
void PngDecoder::unpack_row(const unsigned char* row, void* to) const {
  const std::int64_t channels = image_.channels, samples = image_.width * channels;
  if (is_wide_) return unpack_wide(row, samples, static_cast<float*>(to));
  auto* out = static_cast<std::uint8_t*>(to);
  if (!image_.palette) {
    std::copy_n(row, samples, out);
    return;
  }
  for (std::int64_t x = 0; x < image_.width; ++x) {
    const std::int64_t at = row[x] * channels;
    if (at >= static_cast<std::int64_t>(palette_.size()))
      fail(str("a pixel has colour ", int{row[x]}, " of a palette of ",
               palette_.size() / static_cast<std::size_t>(channels)));
    out = std::copy_n(palette_.data() + at, channels, out);
  }
}

void PngDecoder::read_row(void* to) {
  png_structp png = png_;
  png_bytep row = row_.data();
  call([png, row] { png_read_row(png, row, nullptr); });
  unpack_row(row, to);
  if (++next_row_ == image_.height) end_rows();
}

// An interlaced picture is kept as libpng gives it until its last pass.
Tensor PngDecoder::read_passes() {
  begin_rows();
  png_structp png = png_;
  const std::size_t row_bytes = row_.size();
  row_.resize(row_bytes * static_cast<std::size_t>(image_.height));
  const auto row_at = [&](std::int64_t y) { return row_.data() + row_bytes * static_cast<std::size_t>(y); };
  for (int pass = 0; pass < 7; ++pass)
    for (std::int64_t y = 0; y < image_.height; ++y) {
      png_bytep row = row_at(y);
      call([png, row] { png_read_row(png, row, nullptr); });
    }
  const Tensor image = empty({image_.height, image_.width, image_.channels}, dtype());
  for (std::int64_t y = 0; y < image_.height; ++y) unpack_row(row_at(y), row_of(image, y));
  end_rows();
  return image;
}

Tensor PngDecoder::read() { return image_.interlaced ? read_passes() : all_rows(*this); }

}  // namespace

std::unique_ptr<ImageDecoder> decode_png(InputFile& file) { return std::make_unique<PngDecoder>(file); }

}  // namespace veldt::io
