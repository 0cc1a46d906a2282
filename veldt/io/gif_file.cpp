// Reads the blocks of a GIF, and unpacks the numbers of a frame's pixels.
#include "veldt/io/gif_file.h"

#include <algorithm>
#include <array>
#include <span>

#include "veldt/core/error.h"

namespace veldt::io {
namespace {

constexpr unsigned kExtension = 0x21, kImage = 0x2c, kTrailer = 0x3b, kGraphicControl = 0xf9;
constexpr int kMaxCodeBits = 12;

struct Pass {
  std::int64_t first, step;
};

// Decodes the indices of a frame's pixels in order (LZW with codes of growing length).
class GifNumbers {
 public:
  GifNumbers(ByteReader& bytes, int bits) : bytes_(bytes), clear_(1u << bits), first_bits_(bits + 1) {
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

unsigned GifNumbers::code() {
  for (; bit_count_ < code_bits_; bit_count_ += 8, --block_) {
    if (block_ == 0 && (block_ = bytes_.byte()) == 0) bytes_.fail("the data of its picture end too early");
    bits_ |= std::uint32_t{bytes_.byte()} << bit_count_;
  }
  const unsigned code = bits_ & ((1u << code_bits_) - 1);
  bits_ >>= code_bits_;
  bit_count_ -= code_bits_;
  return code;
}

void GifNumbers::decode_code() {
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

}  // namespace

bool GifPalette::is_grey() const {
  for (std::size_t i = 0; i < rgb.size(); i += 3)
    if (rgb[i] != rgb[i + 1] || rgb[i] != rgb[i + 2]) return false;
  return true;
}

GifFile::GifFile(InputFile& file) : bytes_(file, ImageFormat::gif) {
  bytes_.skip(6);  // its name and version
  width_ = bytes_.little_endian(2);
  height_ = bytes_.little_endian(2);
  const unsigned flags = bytes_.byte();
  bytes_.skip(2);  // the background colour, which no program uses, and the pixel aspect ratio
  palette_ = read_palette(flags);
}

// Colours follow if the first bit is set: 2^(n + 1) of them, where n is the last three bits.
GifPalette GifFile::read_palette(unsigned flags) {
  GifPalette palette;
  if ((flags & 0x80) == 0) return palette;
  palette.bits = static_cast<int>(flags & 7) + 1;
  palette.rgb.resize(std::size_t{3} << palette.bits);
  bytes_.read(palette.rgb.data(), palette.rgb.size());
  return palette;
}

void GifFile::skip_data() {
  while (const unsigned length = bytes_.byte()) bytes_.skip(length);
}

// Reads past the mark of the next frame; false at the end. What precedes the frame is read on the way.
bool GifFile::to_next_frame(GifFrame& frame) {
  for (;;) {
    const unsigned mark = bytes_.byte();
    if (mark == kImage) return true;
    if (mark == kTrailer) return false;
    if (mark == 0) continue;  // some programs end their data twice
    if (mark != kExtension) bytes_.fail(str("it has a block of the unknown kind ", mark));
    if (bytes_.byte() == kGraphicControl) {
      if (bytes_.byte() != 4) bytes_.fail("the description of a frame breaks the format");
      const unsigned flags = bytes_.byte(), disposal = flags >> 2 & 7;
      frame.disposal = disposal == 2   ? GifDisposal::cleared
                       : disposal == 3 ? GifDisposal::restored
                                       : GifDisposal::stays;
      frame.hundredths = static_cast<int>(bytes_.little_endian(2));
      const unsigned number = bytes_.byte();
      frame.transparent = (flags & 1) != 0 ? static_cast<int>(number) : -1;
    }
    skip_data();
  }
}

bool GifFile::next(GifFrame& frame) {
  frame = {};
  if (!to_next_frame(frame)) return false;
  frame.left = bytes_.little_endian(2);
  frame.top = bytes_.little_endian(2);
  frame.width = bytes_.little_endian(2);
  frame.height = bytes_.little_endian(2);
  const unsigned flags = bytes_.byte();
  frame.interlaced = (flags & 0x40) != 0;
  frame.palette = read_palette(flags);
  if (frame.palette.rgb.empty()) frame.palette = palette_;
  if (frame.palette.rgb.empty()) bytes_.fail("it has no colours");
  if (frame.width == 0 || frame.height == 0) bytes_.fail("a frame has no pixels");
  frame.number_bits = static_cast<int>(bytes_.byte());
  if (frame.number_bits < 1 || frame.number_bits > 8)
    bytes_.fail(str("its indices have ", frame.number_bits, " bits"));
  frame.data_begin = bytes_.position();
  skip_data();
  return true;
}

void GifFile::check_size(const GifFrame& frame) const {
  if (static_cast<std::uint64_t>(frame.width * frame.height) > kPixelsAByte * bytes_.size())
    bytes_.fail("the file ends too early");
}

void GifFile::read_rows(const GifFrame& frame,
                        const std::function<void(std::int64_t, const std::uint8_t*)>& row) {
  check_size(frame);
  const std::uint64_t next = bytes_.position();
  bytes_.seek(frame.data_begin);
  const std::size_t colours = frame.palette.rgb.size() / 3;
  GifNumbers numbers(bytes_, frame.number_bits);
  std::vector<std::uint8_t> line(static_cast<std::size_t>(frame.width));
  // An interlaced frame has every eighth row first, then those between.
  constexpr Pass kInterlaced[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}}, kPlain[] = {{0, 1}};
  for (const auto& [first, step] :
       frame.interlaced ? std::span<const Pass>(kInterlaced) : std::span<const Pass>(kPlain))
    for (std::int64_t y = first; y < frame.height; y += step) {
      for (std::uint8_t& number : line) {
        const unsigned read = numbers.next();
        if (read >= colours) bytes_.fail(str("a pixel has colour ", read, " of a palette of ", colours));
        number = static_cast<std::uint8_t>(read);
      }
      row(y, line.data());
    }
  bytes_.seek(next);
}

}  // namespace veldt::io
