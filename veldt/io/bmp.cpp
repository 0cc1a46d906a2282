// Reads BMP: 1 to 32 bits a pixel, runs of 8 and 4 bits, masks, and alpha where a mask has it. Source:
// Microsoft's "Bitmap Header Types" (BITMAPCOREHEADER to BITMAPV5HEADER) and "Bitmap Compression".
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/byte_reader.h"
#include "veldt/io/image_codec.h"

namespace veldt::io {
namespace {

constexpr std::uint64_t kFileHeader = 14;
enum Packing : unsigned { plain = 0, runs_of_8 = 1, runs_of_4 = 2, masked = 3, masked_with_alpha = 6 };

// A sample: the bits of a pixel that are set in the mask.
struct Mask {
  std::uint32_t mask = 0;

  int bits() const { return std::popcount(mask); }
  std::uint32_t level(std::uint32_t pixel) const { return (pixel & mask) >> std::countr_zero(mask); }
  std::uint32_t largest() const { return mask >> std::countr_zero(mask); }
};

class BmpDecoder final : public ImageDecoder {
 public:
  explicit BmpDecoder(InputFile& file) : file_(file), bytes_(file, ImageFormat::bmp) {
    info_ = {.format = ImageFormat::bmp};
    read_header();
    check_size();
  }

  const ImageInfo& info() const override { return info_; }
  Tensor read() override;

 private:
  void read_header();
  void read_masks(std::uint32_t header_bytes);
  void read_palette(std::uint32_t colours, int bytes_each);
  bool has_other_profile(std::uint32_t header_bytes);
  bool is_packed() const { return packing_ == runs_of_8 || packing_ == runs_of_4; }
  void check_size();
  std::uint64_t row_bytes() const {
    return (static_cast<std::uint64_t>(info_.width) * static_cast<std::uint64_t>(bits_) + 31) / 32 * 4;
  }
  std::vector<std::uint8_t> read_runs();
  template <class Row> void for_each_row(const Row& use);
  template <class Sample> void unpack(const unsigned char* row, Sample* to) const;
  void look_up(const unsigned char* row, int bits, std::uint8_t* to) const;

  InputFile& file_;
  ByteReader bytes_;
  ImageInfo info_;
  int bits_ = 0;  // a pixel
  unsigned packing_ = plain;
  bool from_the_top_ = false;
  std::uint32_t pixels_begin_ = 0;
  std::array<Mask, 4> masks_{};        // red, green, blue, alpha
  std::vector<std::uint8_t> palette_;  // `channels` levels a colour
};

void BmpDecoder::read_header() {
  bytes_.skip(10);
  pixels_begin_ = bytes_.little_endian(4);
  const std::uint32_t header = bytes_.little_endian(4);
  const bool is_core = header == 12;
  const int side = is_core ? 2 : 4;
  info_.width = static_cast<std::int32_t>(bytes_.little_endian(side));
  info_.height = static_cast<std::int32_t>(bytes_.little_endian(side));
  bytes_.skip(2);
  bits_ = static_cast<int>(bytes_.little_endian(2));
  std::uint32_t colours = 0;
  if (!is_core) {
    packing_ = bytes_.little_endian(4);
    bytes_.skip(12);
    colours = bytes_.little_endian(4);
    bytes_.skip(4);
  }
  from_the_top_ = info_.height < 0;
  info_.height = from_the_top_ ? -info_.height : info_.height;
  if (info_.width < 1 || info_.height < 1)
    bytes_.fail(str("its size of ", info_.width, " x ", info_.height, " is impossible"));
  const auto is_one_of = [this](std::initializer_list<int> sizes) {
    return std::find(sizes.begin(), sizes.end(), bits_) != sizes.end();
  };
  const bool is_known = packing_ == plain       ? is_one_of({1, 2, 4, 8, 16, 24, 32})
                        : packing_ == runs_of_8 ? is_one_of({8})
                        : packing_ == runs_of_4 ? is_one_of({4})
                        : packing_ == masked || packing_ == masked_with_alpha ? is_one_of({16, 32})
                                                                              : false;
  if (!is_known) bytes_.fail(str("Veldt does not read ", bits_, " bits a pixel, packed in way ", packing_));
  if (bits_ <= 8) {
    bytes_.seek(kFileHeader + header);
    read_palette(colours, is_core ? 3 : 4);
  } else {
    read_masks(header);
  }
  info_.other_profile = has_other_profile(header);
}

// The last two header versions name a colour space; the last one may hold a profile or the name of its file.
bool BmpDecoder::has_other_profile(std::uint32_t header_bytes) {
  constexpr std::uint32_t kEmbedded = 0x4d424544, kLinked = 0x4c494e4b, kMost = 1 << 20;
  if (header_bytes < 108) return false;
  bytes_.seek(kFileHeader + 56);
  const std::uint32_t space = bytes_.little_endian(4);
  if (space != kEmbedded || header_bytes < 124) return space == kEmbedded || space == kLinked;
  bytes_.seek(kFileHeader + 112);
  const std::uint64_t begin = kFileHeader + bytes_.little_endian(4);
  std::string profile(std::min(bytes_.little_endian(4), kMost), '\0');
  if (begin + profile.size() > bytes_.size()) return true;
  bytes_.seek(begin);
  bytes_.read(reinterpret_cast<unsigned char*>(profile.data()), profile.size());
  return !is_srgb(profile);
}

// The masks are inside a header of 52 bytes or more, and after a shorter one.
void BmpDecoder::read_masks(std::uint32_t header_bytes) {
  if (packing_ == plain) {
    constexpr Mask k15[] = {{0x7c00}, {0x3e0}, {0x1f}}, k24[] = {{0xff0000}, {0xff00}, {0xff}};
    std::copy_n(bits_ == 16 ? k15 : k24, 3, masks_.begin());
  } else {
    bytes_.seek(kFileHeader + 40);
    const bool has_alpha = packing_ == masked_with_alpha || header_bytes >= 56;
    for (std::size_t i = 0; i < (has_alpha ? 4u : 3u); ++i) masks_[i].mask = bytes_.little_endian(4);
  }
  info_.channels = masks_[3].mask != 0 ? 4 : 3;
  for (std::size_t i = 0; i < static_cast<std::size_t>(info_.channels); ++i) {
    const std::uint32_t mask = masks_[i].mask, run = mask == 0 ? 0 : mask >> std::countr_zero(mask);
    if (mask == 0 || (run & (run + 1)) != 0 || masks_[i].bits() > 16 || (bits_ == 16 && mask > 0xffff))
      bytes_.fail(str("the mask of its channel ", i, " is ", mask, ", not a run of up to 16 bits"));
    info_.bit_depth = std::max(info_.bit_depth, masks_[i].bits());
  }
}

// Blue, green, red and an unused fourth byte. There may be more colours than indices.
void BmpDecoder::read_palette(std::uint32_t colours, int bytes_each) {
  colours = colours == 0 ? 1u << bits_ : std::min(colours, 1u << bits_);
  std::vector<std::array<std::uint8_t, 3>> rgb(colours);
  bool grey = true;
  for (auto& [red, green, blue] : rgb) {
    blue = static_cast<std::uint8_t>(bytes_.byte());
    green = static_cast<std::uint8_t>(bytes_.byte());
    red = static_cast<std::uint8_t>(bytes_.byte());
    if (bytes_each == 4) bytes_.byte();
    grey = grey && red == green && green == blue;
  }
  info_.palette = true;
  info_.bit_depth = bits_;
  info_.channels = grey ? 1 : 3;
  for (const auto& colour : rgb)
    palette_.insert(palette_.end(), colour.begin(), colour.begin() + info_.channels);
}

void BmpDecoder::check_size() {
  const std::uint64_t rows = static_cast<std::uint64_t>(info_.height);
  const std::uint64_t left = bytes_.size() - std::min<std::uint64_t>(bytes_.size(), pixels_begin_);
  if (!is_packed() && row_bytes() > left / rows) bytes_.fail("the file ends too early");
}

// The indices of all pixels, from the bottom row up, a byte each. Pixels that the runs skip are colour 0;
// data beyond the end of a row is ignored.
std::vector<std::uint8_t> BmpDecoder::read_runs() {
  const std::int64_t width = info_.width, height = info_.height;
  std::vector<std::uint8_t> numbers(static_cast<std::size_t>(width * height));
  std::int64_t x = 0, y = 0;
  const auto put = [&](unsigned number) {
    if (y >= height) bytes_.fail("a run of pixels leaves the picture");
    if (x < width) numbers[static_cast<std::size_t>(y * width + x)] = static_cast<std::uint8_t>(number);
    ++x;
  };
  const bool halves = packing_ == runs_of_4;
  const auto half = [halves](unsigned byte, unsigned i) {
    return !halves ? byte : i % 2 == 0 ? byte >> 4 : byte & 15;
  };
  for (;;) {
    const unsigned count = bytes_.byte(), value = bytes_.byte();
    if (count > 0) {
      for (unsigned i = 0; i < count; ++i) put(half(value, i));
    } else if (value == 0) {  // the end of a row
      x = 0;
      ++y;
    } else if (value == 1) {  // of the picture
      return numbers;
    } else if (value == 2) {  // elsewhere
      x += bytes_.byte();
      y += bytes_.byte();
    } else {  // literal pixels, padded to an even number of bytes
      unsigned byte = 0;
      for (unsigned i = 0; i < value; ++i) {
        if (!halves || i % 2 == 0) byte = bytes_.byte();
        put(half(byte, i));
      }
      if ((halves ? (value + 1) / 2 : value) % 2 != 0) bytes_.byte();
    }
  }
}

// Calls use(row's bytes, its index from the top).
template <class Row> void BmpDecoder::for_each_row(const Row& use) {
  const std::int64_t height = info_.height;
  const auto place = [&](std::int64_t y) { return from_the_top_ ? y : height - 1 - y; };
  bytes_.seek(pixels_begin_);
  if (is_packed()) {
    const std::vector<std::uint8_t> numbers = read_runs();
    for (std::int64_t y = 0; y < height; ++y) use(numbers.data() + y * info_.width, place(y));
    return;
  }
  std::vector<unsigned char> row(row_bytes());
  for (std::int64_t y = 0; y < height; ++y) {
    bytes_.read(row.data(), row.size());
    use(row.data(), place(y));
  }
}

// Samples of up to 8 bits become the nearest byte, larger ones are divided by the maximum.
template <class Sample> void BmpDecoder::unpack(const unsigned char* row, Sample* to) const {
  const int bytes_each = bits_ / 8;
  for (std::int64_t x = 0; x < info_.width; ++x) {
    std::uint32_t pixel = 0;
    for (int i = 0; i < bytes_each; ++i) pixel |= std::uint32_t{*row++} << (8 * i);
    for (std::size_t c = 0; c < static_cast<std::size_t>(info_.channels); ++c) {
      const std::uint32_t level = masks_[c].level(pixel), largest = masks_[c].largest();
      if constexpr (std::is_same_v<Sample, float>)
        *to++ = static_cast<float>(level) / static_cast<float>(largest);
      else
        *to++ = static_cast<Sample>((level * 255 + largest / 2) / largest);
    }
  }
}

void BmpDecoder::look_up(const unsigned char* row, int bits, std::uint8_t* to) const {
  for (std::int64_t x = 0; x < info_.width; ++x) {
    const std::int64_t bit = x * bits;
    const unsigned number = (row[bit / 8] >> (8 - bits - bit % 8)) & ((1u << bits) - 1);
    const std::size_t at = number * static_cast<std::size_t>(info_.channels);
    if (at >= palette_.size())
      bytes_.fail(str("a pixel has colour ", number, " of a palette of ",
                      palette_.size() / static_cast<std::size_t>(info_.channels)));
    to = std::copy_n(palette_.data() + at, info_.channels, to);
  }
}

Tensor BmpDecoder::read() {
  const bool wide = !info_.palette && info_.bit_depth > 8;
  if (is_packed()) check_canvas(file_, info_, 128);  // two bytes encode a run of at most 255 pixels
  const Tensor image = empty({info_.height, info_.width, info_.channels}, wide ? DType::f32 : DType::u8);
  const std::int64_t samples = info_.width * info_.channels;
  for_each_row([&](const unsigned char* row, std::int64_t y) {
    if (wide)
      unpack(row, image.data<float>() + y * samples);
    else if (info_.palette)
      look_up(row, is_packed() ? 8 : bits_, image.data<std::uint8_t>() + y * samples);
    else
      unpack(row, image.data<std::uint8_t>() + y * samples);
  });
  return image;
}

}  // namespace

std::unique_ptr<ImageDecoder> decode_bmp(InputFile& file) { return std::make_unique<BmpDecoder>(file); }

}  // namespace veldt::io
