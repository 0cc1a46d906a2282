// Animated pictures: PNGs with several frames (APNG, part of PNG since its third edition, W3C 2025).
//   io::Animation film({320, 240});
//   for (..) film.add(pixels, 1 / 30.0);
//   film.write("run.apng");
// Tests: tests/io/animation_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "veldt/core/size.h"
#include "veldt/tensor/tensor.h"

namespace veldt::io {

// Keeps the compressed frames until it is written, because the file begins with their number. Of each frame
// only the smallest box is stored that holds all pixels which differ from the frame before. It is shown over
// and over; a program that knows no animations shows the first frame.
class Animation {
 public:
  static constexpr std::int64_t kMostSide = 16384;
  static constexpr double kMostSeconds = 65535;  // a frame; 1 / kMostSeconds at least

  // Channels: 1 grey, 2 grey and alpha, 3 rgb, 4 rgb and alpha. Throws ConfigError for others, and for a side
  // below 1 or above kMostSide.
  explicit Animation(Size size, int channels = 3);

  // A frame of u8 [height, width, channels], shown for so long: 1 / 65535 to 65535 s. The file has it as a
  // quotient of whole numbers up to 65535, so 1 / 30.0 is exact; others are within 0.002 %.
  // Throws ShapeError for another number of bytes, ConfigError for another time.
  void add(std::span<const std::uint8_t> pixels, double seconds);
  // The same of floats in 0..1, clamped and rounded to 8 bits. Throws as write_image() for a NaN, and
  // ShapeError for another shape.
  void add(const Tensor& picture, double seconds);
  std::int64_t frames() const { return static_cast<std::int64_t>(frames_.size()); }
  // About the size of the file.
  std::int64_t bytes() const { return bytes_; }
  // Writes it all or not at all. Throws ConfigError without a frame, IoError unwritable.
  void write(const std::string& path) const;

 private:
  struct Frame {
    std::uint32_t left = 0, top = 0, width = 0, height = 0;
    std::uint32_t seconds = 0, of = 1;  // numerator and denominator
    std::string data;                   // filtered and compressed
  };

  std::int64_t width_, height_, channels_;
  std::int64_t bytes_ = 0;
  std::vector<std::uint8_t> last_;
  std::vector<Frame> frames_;
};

}  // namespace veldt::io
