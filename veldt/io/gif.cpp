// Reads the first frame of a GIF, placed on its canvas. Source: Graphics Interchange Format, version 89a
// (CompuServe, 1990).
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/byte_reader.h"
#include "veldt/io/image_codec.h"

namespace veldt::io {
namespace {

constexpr unsigned kExtension = 0x21, kImage = 0x2c, kTrailer = 0x3b, kGraphicControl = 0xf9;
constexpr int kMaxCodeBits = 12;

struct Pass {
  std::int64_t first, step;
};

struct Palette {
  std::vector<std::uint8_t> rgb;
  int bits = 0;

  bool is_grey() const {
    for (std::size_t i = 0; i < rgb.size(); i += 3)
      if (rgb[i] != rgb[i + 1] || rgb[i] != rgb[i + 2]) return false;
    return true;
  }
};

// Decodes the indices of a frame's pixels in order (LZW with codes of growing length).
class Numbers {
 public:
  Numbers(ByteReader& bytes, int bits) : bytes_(bytes), clear_(1u << bits), first_bits_(bits + 1) {
    restart();
  }

  unsigned next() {
    while (count_ == 0) decode_code();
    return text_[--count_];
  }

 private:
  void restart() {
    code_bits_ = first_bits_;
    free_ = clear_ + 2;  // after the codes that clear and end
    last_ = kNone;
  }
  unsigned code();
  void decode_code();

  static constexpr unsigned kNone = 1u << kMaxCodeBits;

  ByteReader& bytes_;
  unsigned clear_;
  int first_bits_, code_bits_ = 0;
  unsigned free_ = 0, last_ = kNone;  // the next free code of the table; the previous code
  // A code of the table stands for the indices of prefix_ followed by suffix_.
  std::array<std::uint16_t, kNone> prefix_{};
  std::array<std::uint8_t, kNone> suffix_{};
  std::array<std::uint8_t, kNone + 1> text_{};  // the indices of a code, in reverse order
  std::size_t count_ = 0;                       // how many of them are left
  unsigned first_ = 0;                          // first index of the previous code
  unsigned block_ = 0;                          // bytes left of the block of data
  std::uint32_t bits_ = 0;
  int bit_count_ = 0;
};

unsigned Numbers::code() {
  for (; bit_count_ < code_bits_; bit_count_ += 8, --block_) {
    if (block_ == 0 && (block_ = bytes_.byte()) == 0) bytes_.fail("the data of its picture end too early");
    bits_ |= std::uint32_t{bytes_.byte()} << bit_count_;
  }
  const unsigned code = bits_ & ((1u << code_bits_) - 1);
  bits_ >>= code_bits_;
  bit_count_ -= code_bits_;
  return code;
}

void Numbers::decode_code() {
  const unsigned code = this->code();
  if (code == clear_) return restart();
  if (code == clear_ + 1) bytes_.fail("the data of its picture end too early");
  // A code that is not in the table yet stands for the previous code's indices, followed by the first of
  // them.
  if (code > free_ || (code == free_ && last_ == kNone) || (last_ == kNone && code > clear_))
    bytes_.fail("its data break the format");
  unsigned rest = code;
  if (code == free_) {
    text_[count_++] = static_cast<std::uint8_t>(first_);
    rest = last_;
  }
  for (; rest > clear_; rest = prefix_[rest]) text_[count_++] = suffix_[rest];
  text_[count_++] = static_cast<std::uint8_t>(rest);
  first_ = rest;
  if (last_ != kNone && free_ < kNone) {
    prefix_[free_] = static_cast<std::uint16_t>(last_);
    suffix_[free_] = static_cast<std::uint8_t>(rest);
    ++free_;
  }
  if (free_ == 1u << code_bits_ && code_bits_ < kMaxCodeBits) ++code_bits_;
  last_ = code;
}

class GifDecoder final : public ImageDecoder {
 public:
  explicit GifDecoder(InputFile& file) : file_(file), bytes_(file, ImageFormat::gif) {
    bytes_.skip(6);  // its name and version
    info_ = {.format = ImageFormat::gif};
    info_.width = bytes_.little_endian(2);
    info_.height = bytes_.little_endian(2);
    const unsigned flags = bytes_.byte();
    bytes_.skip(2);  // the background colour, which no program uses, and the pixel aspect ratio
    read_palette(flags);
    if (!to_next_frame()) bytes_.fail("there is no picture in it");
    read_frame();
    skip_data();
    count_frames();
  }

  const ImageInfo& info() const override { return info_; }
  Tensor read() override;

 private:
  void read_palette(unsigned flags);
  void skip_palette(unsigned flags);
  void skip_data();
  bool to_next_frame();
  void read_frame();
  void count_frames();
  std::vector<std::uint8_t> colours() const;

  InputFile& file_;
  ByteReader bytes_;
  ImageInfo info_;
  Palette palette_;
  int transparent_ = -1;                                      // index in the palette
  std::int64_t left_ = 0, top_ = 0, width_ = 0, height_ = 0;  // of the frame
  int number_bits_ = 0;
  std::uint64_t data_begin_ = 0;
};

// Colours follow if the first bit is set: 2^(n + 1) of them, where n is the last three bits.
void GifDecoder::read_palette(unsigned flags) {
  if ((flags & 0x80) == 0) return;
  palette_.bits = static_cast<int>(flags & 7) + 1;
  palette_.rgb.resize(std::size_t{3} << palette_.bits);
  bytes_.read(palette_.rgb.data(), palette_.rgb.size());
}

void GifDecoder::skip_palette(unsigned flags) {
  if ((flags & 0x80) != 0) bytes_.skip(std::uint64_t{3} << ((flags & 7) + 1));
}

void GifDecoder::skip_data() {
  while (const unsigned length = bytes_.byte()) bytes_.skip(length);
}

// Reads past the mark of the next frame; false at the end. A frame's transparency is read on the way.
bool GifDecoder::to_next_frame() {
  for (;;) {
    const unsigned mark = bytes_.byte();
    if (mark == kImage) return true;
    if (mark == kTrailer) return false;
    if (mark == 0) continue;  // some programs end their data twice
    if (mark != kExtension) bytes_.fail(str("it has a block of the unknown kind ", mark));
    if (bytes_.byte() == kGraphicControl && data_begin_ == 0) {
      if (bytes_.byte() != 4) bytes_.fail("the description of its first frame breaks the format");
      const unsigned flags = bytes_.byte();
      bytes_.skip(2);  // how long it is shown
      const unsigned number = bytes_.byte();
      transparent_ = (flags & 1) != 0 ? static_cast<int>(number) : -1;
    }
    skip_data();
  }
}

void GifDecoder::read_frame() {
  left_ = bytes_.little_endian(2);
  top_ = bytes_.little_endian(2);
  width_ = bytes_.little_endian(2);
  height_ = bytes_.little_endian(2);
  const unsigned flags = bytes_.byte();
  read_palette(flags);
  if (palette_.rgb.empty()) bytes_.fail("it has no colours");
  // Some programs leave the canvas without a size.
  info_.width = std::max(info_.width, left_ + width_);
  info_.height = std::max(info_.height, top_ + height_);
  if (width_ == 0 || height_ == 0) bytes_.fail("its first frame has no pixels");
  info_.palette = true;
  info_.bit_depth = palette_.bits;
  info_.interlaced = (flags & 0x40) != 0;
  const bool covered = width_ == info_.width && height_ == info_.height;
  info_.channels = (palette_.is_grey() ? 1 : 3) + (transparent_ >= 0 || !covered ? 1 : 0);
  number_bits_ = static_cast<int>(bytes_.byte());
  if (number_bits_ < 1 || number_bits_ > 8) bytes_.fail(str("its indices have ", number_bits_, " bits"));
  data_begin_ = bytes_.position();
}

// Counts complete frames. Damage after the first one does not matter, because only that is read.
void GifDecoder::count_frames() try {
  for (; to_next_frame(); ++info_.pictures) {
    bytes_.skip(8);
    skip_palette(bytes_.byte());
    bytes_.skip(1);
    skip_data();
  }
} catch (const IoError& error) {
  if (error.kind() != IoError::Kind::malformed) throw;
}

// The palette, `channels` values a colour.
std::vector<std::uint8_t> GifDecoder::colours() const {
  std::vector<std::uint8_t> levels;
  for (std::size_t i = 0; i < palette_.rgb.size(); i += 3) {
    const auto* rgb = palette_.rgb.data() + i;
    levels.insert(levels.end(), rgb, rgb + (info_.channels > 2 ? 3 : 1));
    if (info_.channels % 2 == 0) levels.push_back(static_cast<int>(i / 3) == transparent_ ? 0 : 255);
  }
  return levels;
}

// Outside the frame the canvas is transparent.
Tensor GifDecoder::read() {
  constexpr std::uint64_t kPixelsAByte = 4096;  // those of a code of 12 bits
  if (static_cast<std::uint64_t>(width_ * height_) > kPixelsAByte * bytes_.size())
    bytes_.fail("the file ends too early");
  check_canvas(file_, info_, kPixelsAByte);
  bytes_.seek(data_begin_);
  const std::int64_t channels = info_.channels;
  const std::vector<std::uint8_t> levels = colours();
  const Tensor image = empty({info_.height, info_.width, channels}, DType::u8);
  std::fill_n(image.data<std::uint8_t>(), image.numel(), std::uint8_t{0});
  Numbers numbers(bytes_, number_bits_);
  // An interlaced frame has every eighth row first, then those between.
  constexpr Pass kInterlaced[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}}, kPlain[] = {{0, 1}};
  for (const auto& [first, step] : info_.interlaced ? std::span<const Pass>(kInterlaced) : kPlain)
    for (std::int64_t y = first; y < height_; y += step) {
      std::uint8_t* to = image.data<std::uint8_t>() + ((top_ + y) * info_.width + left_) * channels;
      for (std::int64_t x = 0; x < width_; ++x) {
        const std::size_t number = numbers.next(), at = number * static_cast<std::size_t>(channels);
        if (at >= levels.size())
          bytes_.fail(str("a pixel has colour ", number, " of a palette of ", palette_.rgb.size() / 3));
        to = std::copy_n(levels.data() + at, channels, to);
      }
    }
  return image;
}

}  // namespace

std::unique_ptr<ImageDecoder> decode_gif(InputFile& file) { return std::make_unique<GifDecoder>(file); }

}  // namespace veldt::io
