// Reads PNM: PBM, PGM and PPM, as text (P1 to P3) or bytes (P4 to P6), and PAM (P7). Source: the manuals of
// Netpbm's formats.
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/io/byte_reader.h"
#include "veldt/io/image_codec.h"

namespace veldt::io {
namespace {

constexpr std::uint32_t kMaxPnmSide = 0x7fffffff;

struct PnmHeader {
  int kind = 0;  // 1 to 7
  std::int64_t width = 0, height = 0;
  int channels = 1;
  std::uint32_t largest = 1;  // sample
  std::uint64_t begin = 0;    // of the samples

  bool is_text() const { return kind <= 3; }
  bool is_ink() const { return kind == 1 || kind == 4; }  // 1 is black
  std::uint64_t row_bytes() const {
    const auto samples = static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(channels);
    return kind == 4 ? (samples + 7) / 8 : largest > 255 && !is_text() ? 2 * samples : samples;
  }
};

bool is_blank(unsigned c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class PnmDecoder final : public ImageDecoder {
 public:
  explicit PnmDecoder(InputFile& file) : bytes_(file, ImageFormat::pnm) {
    header_ = read_header();
    info_ = {.format = ImageFormat::pnm, .width = header_.width, .height = header_.height};
    info_.channels = header_.channels;
    info_.bit_depth = std::bit_width(header_.largest);
    info_.by_rows = true;
    if (!header_.is_text()) count_pictures();
  }

  const ImageInfo& info() const override { return info_; }
  // Bytes if they hold the levels exactly, as 0..255 does for 0..5; other levels are divided by the maximum.
  DType dtype() const override {
    return header_.largest <= 255 && 255 % header_.largest == 0 ? DType::u8 : DType::f32;
  }
  Tensor read() override { return all_rows(*this); }
  void begin_rows() override;
  void read_row(void* to) override;

 private:
  unsigned character();
  std::string word();
  std::uint32_t number(std::uint32_t most);
  PnmHeader read_header();
  void read_pam(PnmHeader& header);
  void check_size(const PnmHeader& header);
  void count_pictures();
  unsigned sample_of_text();
  unsigned sample_of_row(std::size_t i) const;
  template <class T, class Level> void read_samples(T* to, const Level& level_of);

  ByteReader bytes_;
  PnmHeader header_;
  ImageInfo info_;
  std::vector<unsigned char> row_;  // of a file of bytes
};

// The next character of a text; a comment, from # to the end of the line, is skipped.
unsigned PnmDecoder::character() {
  unsigned c = bytes_.byte();
  if (c != '#') return c;
  while (c != '\n' && !bytes_.at_end()) c = bytes_.byte();
  return '\n';
}

// Reads the next word and the space after it.
std::string PnmDecoder::word() {
  constexpr std::size_t kLongest = 64;
  std::string text;
  while (!bytes_.at_end()) {
    const unsigned c = character();
    if (!is_blank(c)) {
      if (text.size() == kLongest) bytes_.fail("one of its words is not a number");
      text += static_cast<char>(c);
    } else if (!text.empty()) {
      break;
    }
  }
  return text;
}

std::uint32_t PnmDecoder::number(std::uint32_t most) {
  const std::string text = word();
  if (text.empty()) bytes_.fail("the file ends too early");
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') bytes_.fail("one of its words is not a number");
    value = std::min<std::uint64_t>(value * 10 + static_cast<std::uint64_t>(c - '0'), std::uint64_t{1} << 32);
  }
  if (value > most)
    bytes_.fail(str("one of its numbers is ", text, ", and ", most, " is the largest allowed"));
  return static_cast<std::uint32_t>(value);
}

PnmHeader PnmDecoder::read_header() {
  PnmHeader header;
  bytes_.skip(1);
  header.kind = static_cast<int>(bytes_.byte()) - '0';
  if (header.kind == 7) {
    read_pam(header);
  } else {
    header.width = number(kMaxPnmSide);
    header.height = number(kMaxPnmSide);
    if (!header.is_ink()) header.largest = number(65535);
    header.channels = header.kind == 3 || header.kind == 6 ? 3 : 1;
  }
  if (header.width == 0 || header.height == 0 || header.largest == 0)
    bytes_.fail(str("its size of ", header.width, " x ", header.height, " and ", header.largest,
                    " levels is impossible"));
  header.begin = bytes_.position();
  check_size(header);
  return header;
}

// A name and a value on each line.
void PnmDecoder::read_pam(PnmHeader& header) {
  constexpr const char* kKinds[] = {"BLACKANDWHITE",       "GRAYSCALE",       "RGB",
                                    "BLACKANDWHITE_ALPHA", "GRAYSCALE_ALPHA", "RGB_ALPHA"};
  constexpr int kChannels[] = {1, 1, 3, 2, 2, 4};
  int expected = 0;
  for (;;) {
    const std::string name = word();
    if (name == "ENDHDR") break;
    if (name == "WIDTH") {
      header.width = number(kMaxPnmSide);
    } else if (name == "HEIGHT") {
      header.height = number(kMaxPnmSide);
    } else if (name == "DEPTH") {
      header.channels = static_cast<int>(number(4));
    } else if (name == "MAXVAL") {
      header.largest = number(65535);
    } else if (name == "TUPLTYPE") {
      const std::string kind = word();
      const auto* found = std::find(std::begin(kKinds), std::end(kKinds), kind);
      if (found == std::end(kKinds)) bytes_.fail("its samples are of a kind that Veldt does not know");
      expected = kChannels[found - std::begin(kKinds)];
    } else {
      bytes_.fail(name.empty() ? "the file ends too early" : "its header has a line that no PAM has");
    }
  }
  if (header.channels < 1 || (expected != 0 && header.channels != expected))
    bytes_.fail(str("it has ", header.channels, " channels, and samples of ", expected));
}

void PnmDecoder::check_size(const PnmHeader& header) {
  const std::uint64_t left = bytes_.size() - header.begin, rows = static_cast<std::uint64_t>(header.height);
  // A sample in text form has at least one digit.
  if (header.row_bytes() > left / rows) bytes_.fail("the file ends too early");
}

// Binary files may hold several pictures in sequence. An incomplete one does not count.
void PnmDecoder::count_pictures() try {
  for (PnmHeader last = header_;; ++info_.pictures) {
    bytes_.seek(last.begin + last.row_bytes() * static_cast<std::uint64_t>(last.height));
    if (bytes_.at_end() || bytes_.byte() != 'P') return;
    bytes_.seek(bytes_.position() - 1);
    last = read_header();
    if (last.is_text() || last.kind > 7) return;
  }
} catch (const IoError& error) {
  if (error.kind() != IoError::Kind::malformed) throw;
}

unsigned PnmDecoder::sample_of_text() {
  if (header_.kind != 1) return number(header_.largest);
  unsigned c = character();  // digits need no spaces between them
  while (is_blank(c)) c = character();
  if (c != '0' && c != '1') bytes_.fail("one of its pixels is neither 0 nor 1");
  return c - '0';
}

unsigned PnmDecoder::sample_of_row(std::size_t i) const {
  const unsigned sample = header_.kind == 4       ? (row_[i / 8] >> (7 - i % 8)) & 1u
                          : header_.largest > 255 ? row_[2 * i] * 256u + row_[2 * i + 1]
                                                  : row_[i];
  if (sample > header_.largest)
    bytes_.fail(str("one of its samples is ", sample, ", and ", header_.largest, " is white"));
  return sample;
}

template <class T, class Level> void PnmDecoder::read_samples(T* to, const Level& level_of) {
  const auto samples = static_cast<std::size_t>(header_.width) * static_cast<std::size_t>(header_.channels);
  for (std::size_t i = 0; i < samples; ++i)
    to[i] = level_of(header_.is_text() ? sample_of_text() : sample_of_row(i));
}

void PnmDecoder::begin_rows() {
  bytes_.seek(header_.begin);
  if (!header_.is_text()) row_.resize(header_.row_bytes());
}

void PnmDecoder::read_row(void* to) {
  if (!header_.is_text()) bytes_.read(row_.data(), row_.size());
  if (dtype() == DType::u8) {
    const std::uint32_t step = 255 / header_.largest, flip = header_.is_ink() ? 255 : 0;
    return read_samples(static_cast<std::uint8_t*>(to), [step, flip](unsigned sample) {
      return static_cast<std::uint8_t>((sample * step) ^ flip);
    });
  }
  read_samples(static_cast<float*>(to), [this](unsigned sample) {
    return static_cast<float>(sample) / static_cast<float>(header_.largest);
  });
}

}  // namespace

std::unique_ptr<ImageDecoder> decode_pnm(InputFile& file) { return std::make_unique<PnmDecoder>(file); }

}  // namespace veldt::io
