// Reads the first page of a TIFF.
#include "veldt/io/image_codec.h"

#ifdef VELDT_TIFF_SONAME

#include <tiff.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/exif.h"
#include "veldt/io/samples.h"
#include "veldt/io/tiff_file.h"

namespace veldt::io {
namespace {

class TiffDecoder final : public ImageDecoder {
 public:
  explicit TiffDecoder(InputFile& file) : file_(file) { read_header(); }

  const ImageInfo& info() const override { return info_; }
  DType dtype() const override { return info_.bit_depth > 8 || inks_ ? DType::f32 : DType::u8; }
  Tensor read() override;

 private:
  void read_header();
  void check_capacity() const;
  void check_samples() const;
  int kind_of_colours() const;
  void read_colours();
  void read_alpha();
  void read_palette();
  void copy_block(std::int64_t x, std::int64_t y, int plane, std::int64_t rows, const Tensor& image) const;
  template <class Use>
  void for_each_sample(const unsigned char* row, int first, std::int64_t columns, const Use& use) const;
  template <class Sample>
  void copy_row(const unsigned char* row, std::int64_t columns, int plane, Sample* to) const;
  Tensor read_blocks();
  Tensor read_converted();

  TiffFile file_;
  ImageInfo info_;
  std::int64_t width_ = 0, height_ = 0;  // as stored
  int orientation_ = 1;
  int bits_ = 0, stored_ = 0, colours_ = 0,
      kept_ = 0;       // bits per sample; samples per pixel: all, colours, kept
  int alpha_at_ = -1;  // among those stored
  bool planar_ = false, tiled_ = false, inverted_ = false, inks_ = false, converted_ = false;
  bool multiplied_ = false;
  std::vector<std::uint8_t> palette_;  // the channels of each colour, without alpha
  std::int64_t block_width_ = 0, block_height_ = 0;
  std::vector<unsigned char> block_;
  std::size_t block_row_ = 0;
};

void TiffDecoder::read_header() {
  width_ = file_.field<std::uint32_t>(TIFFTAG_IMAGEWIDTH);
  height_ = file_.field<std::uint32_t>(TIFFTAG_IMAGELENGTH);
  if (width_ < 1 || height_ < 1 || width_ > INT32_MAX || height_ > INT32_MAX)
    file_.fail(str("its size of ", width_, " x ", height_, " is impossible"));
  bits_ = file_.field<std::uint16_t>(TIFFTAG_BITSPERSAMPLE);
  stored_ = file_.field<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL);
  orientation_ = file_.field<std::uint16_t>(TIFFTAG_ORIENTATION);
  if (orientation_ < 1 || orientation_ > 8) orientation_ = 1;
  planar_ = file_.field<std::uint16_t>(TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE && stored_ > 1;
  tiled_ = file_.is_tiled();
  check_samples();
  info_ = {.format = ImageFormat::tiff, .width = width_, .height = height_, .bit_depth = bits_};
  if (swaps_sides(orientation_)) std::swap(info_.width, info_.height);
  read_colours();
  info_.pictures = file_.pages();
  std::uint32_t profile_bytes = 0;
  const char* profile = nullptr;
  if (file_.get(TIFFTAG_ICCPROFILE, &profile_bytes, &profile))
    info_.other_profile = !is_srgb({profile, profile_bytes});
  file_.check_no_error();
}

void TiffDecoder::check_samples() const {
  const auto format = file_.field<std::uint16_t>(TIFFTAG_SAMPLEFORMAT);
  const bool known = bits_ == 1 || bits_ == 2 || bits_ == 4 || bits_ == 8 || bits_ == 16;
  const std::string why = format == SAMPLEFORMAT_INT      ? "its samples have a sign"
                          : format == SAMPLEFORMAT_IEEEFP ? "its samples are floating point numbers"
                          : format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID
                              ? "its samples are complex numbers"
                          : known ? ""
                                  : str("its samples have ", bits_, " bits");
  if (!why.empty())
    throw IoError(IoError::Kind::malformed, "cannot read " + file_.path(), why,
                  "convert it to samples of 8 or 16 bits without a sign");
}

// If the tag is missing, the usual meaning: a fax is black on white.
int TiffDecoder::kind_of_colours() const {
  std::uint16_t kind = 0;
  if (file_.get(TIFFTAG_PHOTOMETRIC, &kind)) return kind;
  const auto packing = file_.field<std::uint16_t>(TIFFTAG_COMPRESSION);
  const bool is_fax = packing == COMPRESSION_CCITTRLE || packing == COMPRESSION_CCITTRLEW ||
                      packing == COMPRESSION_CCITTFAX3 || packing == COMPRESSION_CCITTFAX4;
  return stored_ >= 3 ? PHOTOMETRIC_RGB : is_fax ? PHOTOMETRIC_MINISWHITE : PHOTOMETRIC_MINISBLACK;
}

// Luma and chroma outside of a JPEG are left to libtiff, which converts them to 8-bit RGB.
void TiffDecoder::read_colours() {
  const int kind = kind_of_colours();
  switch (kind) {
    case PHOTOMETRIC_MINISWHITE: inverted_ = true; [[fallthrough]];
    case PHOTOMETRIC_MINISBLACK: colours_ = 1; break;
    case PHOTOMETRIC_RGB: colours_ = 3; break;
    case PHOTOMETRIC_PALETTE: colours_ = 1; break;
    case PHOTOMETRIC_SEPARATED: colours_ = 4; break;
    case PHOTOMETRIC_YCBCR: converted_ = true; break;
    default:
      throw IoError(IoError::Kind::malformed, "cannot read " + file_.path(),
                    str("its colours are of kind ", kind, ", which Veldt does not know"),
                    str("convert it to RGB, or to ", kWrittenPictures));
  }
  // For a JPEG within a TIFF libjpeg converts the pixels.
  if (kind == PHOTOMETRIC_YCBCR && file_.field<std::uint16_t>(TIFFTAG_COMPRESSION) == COMPRESSION_JPEG &&
      !planar_ && file_.ask_for_rgb()) {
    converted_ = false;
    colours_ = 3;
  }
  if (converted_) {
    info_.channels = 3;
    info_.bit_depth = 8;
    return;
  }
  read_alpha();
  if (colours_ > stored_) file_.fail(str("it has ", stored_, " samples a pixel, and colours of ", colours_));
  inks_ = kind == PHOTOMETRIC_SEPARATED;
  kept_ = colours_ + (alpha_at_ >= 0 ? 1 : 0);
  info_.channels = kept_ - (inks_ ? 1 : 0);
  info_.other_channels = stored_ - kept_;
  if (kind == PHOTOMETRIC_PALETTE) read_palette();
}

// The first sample beyond the colours that is marked as alpha.
void TiffDecoder::read_alpha() {
  std::uint16_t count = 0;
  const std::uint16_t* kinds = nullptr;
  file_.get_or_default(TIFFTAG_EXTRASAMPLES, &count, &kinds);
  for (int i = 0; i < std::min<int>(count, stored_ - colours_) && kinds != nullptr && alpha_at_ < 0; ++i)
    if (kinds[i] == EXTRASAMPLE_ASSOCALPHA || kinds[i] == EXTRASAMPLE_UNASSALPHA) {
      alpha_at_ = colours_ + i;
      multiplied_ = kinds[i] == EXTRASAMPLE_ASSOCALPHA;
    }
}

void TiffDecoder::read_palette() {
  const std::uint16_t* planes[3] = {};
  if (bits_ > 8 || !file_.get(TIFFTAG_COLORMAP, &planes[0], &planes[1], &planes[2]))
    file_.fail("it has no palette for its pixels");
  const std::size_t count = std::size_t{1} << bits_;
  bool grey = true, bytes = true;  // old programs wrote 0..255 instead of 0..65535
  for (std::size_t i = 0; i < count; ++i) {
    grey = grey && planes[0][i] == planes[1][i] && planes[0][i] == planes[2][i];
    for (const std::uint16_t* plane : planes) bytes = bytes && plane[i] < 256;
  }
  info_.palette = true;
  info_.channels = (grey ? 1 : 3) + (alpha_at_ >= 0 ? 1 : 0);
  for (std::size_t i = 0; i < count; ++i)
    for (int c = 0; c < (grey ? 1 : 3); ++c)
      palette_.push_back(static_cast<std::uint8_t>(bytes ? planes[c][i] : planes[c][i] >> 8));
}

// Calls use(column, sample) for one channel of a row, which has `first` as its first sample.
template <class Use>
void TiffDecoder::for_each_sample(const unsigned char* row, int first, std::int64_t columns,
                                  const Use& use) const {
  const std::int64_t step = planar_ ? 1 : stored_, begin = planar_ ? 0 : first;
  if (bits_ == 8) {
    for (std::int64_t x = 0; x < columns; ++x) use(x, unsigned{row[begin + x * step]});
  } else if (bits_ == 16) {
    for (std::int64_t x = 0; x < columns; ++x) {
      std::uint16_t value;
      std::memcpy(&value, row + 2 * (begin + x * step), sizeof value);
      use(x, unsigned{value});
    }
  } else {
    for (std::int64_t x = 0; x < columns; ++x) {
      const std::int64_t bit = (begin + x * step) * bits_;
      use(x, (row[bit / 8] >> (8 - bits_ - bit % 8)) & ((1u << bits_) - 1));
    }
  }
}

// Samples of up to 8 bits become bytes, larger ones are divided by the maximum; an index becomes its
// palette's colour; inks become r = (1 - c)(1 - k) as in a JPEG, so black is handled last.
template <class Sample>
void TiffDecoder::copy_row(const unsigned char* row, std::int64_t columns, int plane, Sample* to) const {
  const std::int64_t channels = info_.channels;
  const unsigned largest = (1u << bits_) - 1;
  const auto level = [largest](unsigned value) {
    if constexpr (std::is_same_v<Sample, float>)
      return static_cast<float>(value) / static_cast<float>(largest);
    else
      return static_cast<Sample>(value * (255 / largest));
  };
  const bool plain = bits_ == 8 && !planar_ && !inverted_ && !inks_ && !info_.palette && kept_ == stored_;
  if (std::is_same_v<Sample, std::uint8_t> && plain) {
    std::copy_n(row, columns * channels, to);
    return;
  }
  for (int c = 0; c < kept_; ++c) {
    const bool is_alpha = c == colours_;
    const int from = is_alpha ? alpha_at_ : c;
    if (planar_ && from != plane) continue;
    const unsigned flip = inverted_ && !is_alpha ? largest : 0;
    Sample* channel = to + (is_alpha ? channels - 1 : c);
    for_each_sample(row, from, columns, [&](std::int64_t x, unsigned value) {
      Sample* pixel = channel + x * channels;
      if (info_.palette && !is_alpha) {
        const std::int64_t count = channels - (alpha_at_ >= 0 ? 1 : 0);
        std::copy_n(palette_.data() + static_cast<std::int64_t>(value) * count, count, pixel);
      } else if (!inks_ || is_alpha) {
        *pixel = level(value ^ flip);
      } else if (c < 3) {
        *pixel = Sample{1} - level(value);
      } else {
        for (int light = 0; light < 3; ++light) pixel[light - c] *= Sample{1} - level(value);
      }
    });
  }
}

void TiffDecoder::copy_block(std::int64_t x, std::int64_t y, int plane, std::int64_t rows,
                             const Tensor& image) const {
  const std::int64_t columns = std::min(block_width_, width_ - x), channels = image.size(2);
  by_sample(image, [&]<class Sample>(Sample* to, Sample) {
    for (std::int64_t i = 0; i < rows; ++i)
      copy_row(block_.data() + static_cast<std::size_t>(i) * block_row_, columns, plane,
               to + ((y + i) * width_ + x) * channels);
  });
}

Tensor TiffDecoder::read_blocks() {
  block_width_ = tiled_ ? file_.field<std::uint32_t>(TIFFTAG_TILEWIDTH) : width_;
  block_height_ = tiled_ ? file_.field<std::uint32_t>(TIFFTAG_TILELENGTH)
                         : std::min<std::int64_t>(
                               std::max(file_.field<std::uint32_t>(TIFFTAG_ROWSPERSTRIP), 1u), height_);
  const std::int64_t row_bytes = (block_width_ * (planar_ ? 1 : stored_) * bits_ + 7) / 8;
  // A strip may hold the whole picture.
  const std::int64_t whole = tiled_ ? 0 : 2 * width_ * height_ * kept_ * std::max(bits_ / 8, 1);
  const std::int64_t limit = std::max(TiffFile::kMaxBlockBytes, whole);
  if (block_width_ < 1 || block_height_ < 1 || block_height_ > limit / row_bytes)
    file_.fail(str("its parts of ", block_width_, " x ", block_height_, " pixels of ", stored_,
                   " samples have a size that no program writes"));
  block_row_ = static_cast<std::size_t>(row_bytes);
  block_.resize(block_row_ * static_cast<std::size_t>(block_height_));
  const Tensor image = empty({height_, width_, info_.channels}, dtype());
  file_.count_warnings();
  for (int plane = 0; plane < (planar_ ? stored_ : 1); ++plane) {
    if (plane >= colours_ && plane != alpha_at_) continue;
    for (std::int64_t y = 0; y < height_; y += block_height_)
      for (std::int64_t x = 0; x < width_; x += block_width_) {
        const std::int64_t rows = std::min(block_height_, height_ - y);
        const std::size_t bytes = block_row_ * static_cast<std::size_t>(tiled_ ? block_height_ : rows);
        file_.read_block(x, y, static_cast<std::uint16_t>(plane), block_.data(), bytes);
        copy_block(x, y, plane, rows, image);
      }
  }
  return image;
}

Tensor TiffDecoder::read_converted() {
  std::vector<std::uint32_t> pixels(static_cast<std::size_t>(width_ * height_));
  file_.count_warnings();
  if (!file_.read_rgba(width_, height_, orientation_, pixels.data()))  // as stored
    file_.fail("libtiff does not know its colours");
  file_.check_no_error();
  const Tensor image = empty({height_, width_, 3}, DType::u8);
  std::uint8_t* to = image.data<std::uint8_t>();
  for (const std::uint32_t pixel : pixels)
    for (int c = 0; c < 3; ++c) *to++ = static_cast<std::uint8_t>(pixel >> (8 * c));
  return image;
}

// An uncompressed file must have every row: libtiff would read missing rows from anywhere.
void TiffDecoder::check_capacity() const {
  const std::uint64_t bytes = file_.size(), rows = static_cast<std::uint64_t>(height_);
  const auto row_bits = static_cast<std::uint64_t>(width_) * static_cast<std::uint64_t>(stored_ * bits_);
  const bool whole_rows = !converted_;  // pictures left to libtiff may have fewer colour samples
  if (file_.field<std::uint16_t>(TIFFTAG_COMPRESSION) == COMPRESSION_NONE && whole_rows &&
      (row_bits + 7) / 8 > bytes / rows)
    file_.fail("the file ends too early");
}

Tensor TiffDecoder::read() {
  check_capacity();
  const Tensor image = converted_ ? read_converted() : read_blocks();
  if (multiplied_) unmultiply(image);
  return oriented(image, orientation_);
}

}  // namespace

std::unique_ptr<ImageDecoder> decode_tiff(InputFile& file) { return std::make_unique<TiffDecoder>(file); }

}  // namespace veldt::io

#else

namespace veldt::io {

std::unique_ptr<ImageDecoder> decode_tiff(InputFile& file) {
  throw without_library(file.path(), "TIFF", "libtiff-dev");
}

}  // namespace veldt::io

#endif
