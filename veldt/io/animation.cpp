// Writes the chunks of an animated PNG.
#include "veldt/io/animation.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/pixels.h"
#include "veldt/io/png_chunks.h"

namespace veldt::io {
namespace {

constexpr double kMostDelay = Animation::kMostSeconds;  // numerator and denominator have 16 bits

// The numerator and denominator of a time in seconds: the first convergent of its continued fraction that is
// the same double or nearly, else the last that fits. Source: Hardy & Wright, An Introduction to the Theory
// of Numbers, chapter 10.
std::pair<std::uint32_t, std::uint32_t> fraction_of(double seconds) {
  if (!(seconds >= 1 / kMostDelay && seconds <= kMostDelay))
    throw ConfigError(str("a frame cannot be shown for ", seconds, " seconds"),
                      "an animated PNG has 1/65535 to 65535 seconds a frame",
                      seconds < 1 ? "show fewer frames a second" : "show more frames a second");
  double before_p = 0, p = 1, before_q = 1, q = 0, rest = seconds;
  for (;;) {
    const double whole = std::floor(rest), next_p = whole * p + before_p, next_q = whole * q + before_q;
    if (next_p > kMostDelay || next_q > kMostDelay) break;
    before_p = std::exchange(p, next_p), before_q = std::exchange(q, next_q);
    if (std::abs(p / q - seconds) <= 1e-12 * seconds) break;
    rest = 1 / (rest - whole);
  }
  return {static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(q)};
}

std::string compressed(const std::string& bytes) {
  uLongf size = ::compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  if (::compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                  static_cast<uLong>(bytes.size()), 6) != Z_OK)
    throw OutOfMemory("cannot compress a frame", "zlib had no memory", "draw a smaller picture");
  out.resize(size);
  return out;
}

}  // namespace

Animation::Animation(Size size, int channels)
    : width_(size.width), height_(size.height), channels_(channels) {
  if (size.width < 1 || size.height < 1 || size.width > kMostSide || size.height > kMostSide)
    throw ConfigError(str("an animation cannot be ", size.width, " by ", size.height),
                      str("each side has 1 to ", kMostSide, " pixels"), "give another size");
  if (channels < 1 || channels > 4)
    throw ConfigError(str("an animation cannot have ", channels, " channels"), "there are 1 to 4",
                      "give grey or rgb, with or without alpha");
}

void Animation::add(std::span<const std::uint8_t> pixels, double seconds) {
  if (std::ssize(pixels) != width_ * height_ * channels_)
    throw ShapeError(str("a frame cannot have ", pixels.size(), " bytes"),
                     str("it is ", height_, " by ", width_, " pixels of ", channels_), "give as many");
  const auto [numerator, denominator] = fraction_of(seconds);
  std::int64_t left = 0, right = width_, top = 0, bottom = height_;
  if (!last_.empty()) {
    left = width_, right = 0, top = height_, bottom = 0;
    for (std::int64_t y = 0; y < height_; ++y) {
      const std::uint8_t *now = &pixels[static_cast<std::size_t>(channels_ * y * width_)],
                         *before = &last_[static_cast<std::size_t>(channels_ * y * width_)];
      if (std::memcmp(now, before, static_cast<std::size_t>(channels_ * width_)) == 0) continue;
      top = std::min(top, y), bottom = y + 1;
      for (std::int64_t x = 0; x < width_; ++x)
        if (std::memcmp(now + channels_ * x, before + channels_ * x, static_cast<std::size_t>(channels_)) !=
            0)
          left = std::min(left, x), right = std::max(right, x + 1);
    }
    if (right == 0) left = top = 0, right = bottom = 1;  // a frame has a pixel
  }
  // Each row as its difference to the one above (filter 2).
  std::string rows;
  for (std::int64_t y = top; y < bottom; ++y) {
    rows += '\2';
    for (std::int64_t i = channels_ * left; i < channels_ * right; ++i) {
      const std::uint8_t above =
          y > top ? pixels[static_cast<std::size_t>(channels_ * (y - 1) * width_ + i)] : 0;
      rows += static_cast<char>(pixels[static_cast<std::size_t>(channels_ * y * width_ + i)] - above);
    }
  }
  const auto whole = [](std::int64_t x) { return static_cast<std::uint32_t>(x); };
  frames_.push_back({whole(left), whole(top), whole(right - left), whole(bottom - top), numerator,
                     denominator, compressed(rows)});
  bytes_ += std::ssize(frames_.back().data) + 50;
  last_.assign(pixels.begin(), pixels.end());
}

void Animation::add(const Tensor& picture, double seconds) {
  const Pixels floats = host_pixels(picture);
  if (floats.width != width_ || floats.height != height_ || floats.channels != channels_)
    throw ShapeError(str("a frame cannot be ", picture.shape()),
                     str("it is [", height_, ", ", width_, ", ", channels_, ']'), "give frames of one size");
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(picture.numel()));
  for (std::int64_t i = 0; i < picture.numel(); ++i) {
    const float value = floats.values[i];
    if (std::isnan(value)) throw nan_in_picture(i / channels_ % width_, i / channels_ / width_);
    bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(level_of(value, 255));
  }
  add(bytes, seconds);
}

void Animation::write(const std::string& path) const {
  if (frames_.empty())
    throw ConfigError("an animation without frames cannot be written", "nothing was added to it",
                      "add a frame");
  std::string file = "\x89PNG\r\n\x1a\n", header, control;
  put_big_endian(header, static_cast<std::uint32_t>(width_)),
      put_big_endian(header, static_cast<std::uint32_t>(height_));
  constexpr char kColours[] = {0, 4, 2, 6};  // PNG's numbers of grey, grey and alpha, rgb, rgb and alpha
  header += '\x08';                          // bits
  header += kColours[channels_ - 1];
  header += std::string(3, '\0');
  put_png_chunk(file, "IHDR", header);
  put_big_endian(control, static_cast<std::uint32_t>(frames_.size())),
      put_big_endian(control, 0);  // for ever
  put_png_chunk(file, "acTL", control);
  std::uint32_t sequence = 0;
  for (const Frame& frame : frames_) {
    std::string about;
    for (const std::uint32_t number : {sequence++, frame.width, frame.height, frame.left, frame.top})
      put_big_endian(about, number);
    put_big_endian(about, frame.seconds, 2), put_big_endian(about, frame.of, 2);
    about += std::string(2, '\0');  // it stays, and covers what was there
    put_png_chunk(file, "fcTL", about);
    if (&frame == &frames_.front()) {
      put_png_chunk(file, "IDAT", frame.data);
      continue;
    }
    std::string data;
    put_big_endian(data, sequence++);
    put_png_chunk(file, "fdAT", data + frame.data);
  }
  put_png_chunk(file, "IEND", "");
  write_file(path, file);
}

}  // namespace veldt::io
