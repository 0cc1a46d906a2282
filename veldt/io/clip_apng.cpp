// Reads all frames of an animated PNG: each is handed to the reader of PNGs as a picture of its own.
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/clip_canvas.h"
#include "veldt/io/image_codec.h"
#include "veldt/io/png_chunks.h"

namespace veldt::io {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr std::uint32_t kMostSide = 0x7fffffff;
constexpr std::uint64_t kPixelsAByte =
    1032;  // deflate packs by that factor at most, and a pixel may be a bit
constexpr std::uint64_t kBitsAByte = 8;

struct ApngFrame {
  FramePlace place;
  std::string data;  // of its IDAT or fdAT chunks
};

class ApngReader {
 public:
  ApngReader(InputFile& file, const ReadOptions& options) : file_(file), options_(options) {}

  Clip clip() {
    read_chunks();
    if (stated_ == 0) fail("it is not animated");
    if (std::ssize(frames_) != stated_) fail(str("it states ", stated_, " frames and has ", frames_.size()));
    ClipCanvas canvas(file_, ImageFormat::png, stated_, size_, options_, kBitsAByte * kPixelsAByte);
    for (const ApngFrame& frame : frames_) add(frame, canvas);
    return canvas.clip();
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw damaged_picture(file_.path(), ImageFormat::png, why);
  }
  static std::uint32_t number(std::string_view data, std::size_t at, int bytes = 4) {
    std::uint32_t value = 0;
    for (int i = 0; i < bytes; ++i)
      value = value << 8 | static_cast<unsigned char>(data[at + static_cast<std::size_t>(i)]);
    return value;
  }

  void read_chunks();
  void take_chunk(std::string_view name, std::string_view data);
  void take_header(std::string_view data);
  void take_control(std::string_view data);
  void take_order(std::string_view data) {
    if (data.size() < 4 || number(data, 0) != next_++) fail("its frames are out of order");
  }
  void add(const ApngFrame& frame, ClipCanvas& canvas) const;

  InputFile& file_;
  const ReadOptions& options_;
  Size size_ = {0, 0};
  std::string header_, palette_;  // the chunk IHDR's data; the chunks PLTE and tRNS
  std::int64_t stated_ = 0;       // frames
  std::uint32_t next_ = 0;        // place of an fcTL or fdAT
  bool has_picture_ = false;      // the IDAT
  std::vector<ApngFrame> frames_;
};

void ApngReader::read_chunks() {
  const std::vector<unsigned char> bytes = whole_picture(file_, ImageFormat::png);
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bool is_ended = false;
  for (std::size_t at = kSignature.size(); !is_ended;) {
    if (file.size() < at + 12) fail("the file ends too early");
    const std::size_t length = number(file, at);
    if (length > file.size() - at - 12) fail("the file ends too early");
    const std::string_view name = file.substr(at + 4, 4), data = file.substr(at + 8, length);
    if (number(file, at + 8 + length) != png_checksum(file.substr(at + 4, length + 4)))
      fail(str("the checksum of its ", name, " is wrong"));
    if (at == kSignature.size() && name != "IHDR") fail("it does not begin with its size");
    take_chunk(name, data);
    is_ended = name == "IEND";
    at += length + 12;
  }
}

void ApngReader::take_chunk(std::string_view name, std::string_view data) {
  if (name == "IHDR") return take_header(data);
  if (name == "PLTE" || name == "tRNS") {
    if (!has_picture_) put_png_chunk(palette_, name, data);
  } else if (name == "acTL") {
    if (data.size() < 8 || stated_ != 0 || has_picture_) fail("its acTL breaks the format");
    stated_ = number(data, 0);
    if (stated_ == 0) fail("it states no frames");
  } else if (name == "fcTL") {
    take_control(data);
  } else if (name == "IDAT") {
    has_picture_ = true;
    if (frames_.size() > 1) fail("its default picture is out of order");
    if (!frames_.empty()) frames_.back().data += data;
  } else if (name == "fdAT") {
    take_order(data);
    if (!has_picture_ || frames_.empty()) fail("its frames are out of order");
    frames_.back().data += data.substr(4);
  }
}

void ApngReader::take_header(std::string_view data) {
  if (data.size() != 13 || !header_.empty()) fail("its header breaks the format");
  const std::uint32_t width = number(data, 0), height = number(data, 4);
  if (width == 0 || height == 0 || width > kMostSide || height > kMostSide)
    fail(str("its size of ", width, " x ", height, " is impossible"));
  size_ = {width, height};
  header_ = data;
}

void ApngReader::take_control(std::string_view data) {
  take_order(data);
  if (data.size() != 26) fail("its fcTL breaks the format");
  if (std::ssize(frames_) >= stated_) fail(str("it states ", stated_, " frames and has more"));
  ApngFrame& frame = frames_.emplace_back();
  FramePlace& place = frame.place;
  place.width = number(data, 4), place.height = number(data, 8);
  place.left = number(data, 12), place.top = number(data, 16);
  if (place.width == 0 || place.height == 0 || place.left + place.width > size_.width ||
      place.top + place.height > size_.height)
    fail(str("frame ", frames_.size(), " is not within its ", size_.width, " x ", size_.height));
  if (!has_picture_ && (place.width != size_.width || place.height != size_.height))
    fail("its first frame is not the whole");
  const std::uint32_t part = number(data, 20, 2), of = number(data, 22, 2);
  place.seconds = static_cast<double>(part) / (of > 0 ? of : 100);
  const auto dispose = static_cast<unsigned char>(data[24]), blend = static_cast<unsigned char>(data[25]);
  if (dispose > 2 || blend > 1) fail("its fcTL breaks the format");
  // Nothing is before the first.
  place.after = dispose == 0                          ? AfterFrame::stays
                : dispose == 1 || frames_.size() == 1 ? AfterFrame::cleared
                                                      : AfterFrame::restored;
  place.is_over = blend == 1;
}

void ApngReader::add(const ApngFrame& frame, ClipCanvas& canvas) const {
  const FramePlace& place = frame.place;
  std::string header, png(kSignature);
  put_big_endian(header, static_cast<std::uint32_t>(place.width));
  put_big_endian(header, static_cast<std::uint32_t>(place.height));
  put_png_chunk(png, "IHDR", header + header_.substr(8));
  png += palette_;
  put_png_chunk(png, "IDAT", frame.data);
  put_png_chunk(png, "IEND", {});
  const Tensor image = read_picture(std::as_bytes(std::span(png)), file_.path(),
                                    {.max_pixels = 4 * place.width * place.height, .keep_bytes = true})
                           .image;
  const std::int64_t channels = image.size(2), pixels = place.width * place.height;
  std::vector<std::uint8_t> rgba(static_cast<std::size_t>(4 * pixels));
  by_sample(image, [&]<class Sample>(const Sample* from, Sample white) {
    const auto byte = [white](Sample sample) {
      return static_cast<std::uint8_t>(static_cast<float>(sample) / static_cast<float>(white) * 255 + 0.5f);
    };
    for (std::int64_t i = 0; i < pixels; ++i, from += channels) {
      std::uint8_t* to = rgba.data() + 4 * i;
      for (std::int64_t c = 0; c < 3; ++c) to[c] = byte(from[channels > 2 ? c : 0]);
      to[3] = channels % 2 == 0 ? byte(from[channels - 1]) : 255;
    }
  });
  canvas.add(place, rgba.data());
}

}  // namespace

Clip read_apng(InputFile& file, const ReadOptions& options) { return ApngReader(file, options).clip(); }

}  // namespace veldt::io
