// Lays the frames of an animated picture over each other.
#include "veldt/io/clip_canvas.h"

#include <algorithm>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/image_codec.h"

namespace veldt::io {
namespace {

constexpr double kDefaultSeconds = 0.1;

// `above` over `below` by its alpha; colours are not multiplied by alpha.
void lay_over(const std::uint8_t* above, std::uint8_t* below) {
  const unsigned a = above[3], rest = below[3] * (255 - a);  // the latter of 255^2
  if (a == 255 || rest == 0) {
    if (a > 0) std::copy_n(above, 4, below);
    return;
  }
  const unsigned alpha = 255 * a + rest;
  for (int c = 0; c < 3; ++c)
    below[c] = static_cast<std::uint8_t>((above[c] * 255 * a + below[c] * rest + alpha / 2) / alpha);
  below[3] = static_cast<std::uint8_t>((alpha + 127) / 255);
}

}  // namespace

ClipCanvas::ClipCanvas(const InputFile& file, ImageFormat format, std::int64_t frames, Size size,
                       const ReadOptions& options, std::uint64_t pixels_a_byte)
    : width_(size.width), height_(size.height) {
  const std::int64_t pixels = width_ * height_;  // each side is below 2^31
  if (pixels > options.max_pixels / frames)
    throw IoError(IoError::Kind::malformed,
                  str(file.path(), " is too large: ", frames, " frames of ", width_, " x ", height_),
                  str("there may be ", options.max_pixels, " pixels in all"),
                  "raise max_pixels if the clip is meant to be this large");
  check_canvas(file, {.format = format, .width = width_, .height = height_ * frames}, pixels_a_byte);
  canvas_.resize(static_cast<std::size_t>(4 * pixels));
  all_.reserve(static_cast<std::size_t>(4 * pixels * frames));
}

void ClipCanvas::add(const FramePlace& place, const std::uint8_t* rgba) {
  std::vector<std::uint8_t> before;
  if (place.after == AfterFrame::restored) before = canvas_;
  const auto row_of_canvas = [&](std::int64_t y) {
    return canvas_.data() + 4 * ((place.top + y) * width_ + place.left);
  };
  for (std::int64_t y = 0; y < place.height; ++y) {
    const std::uint8_t* from = rgba + 4 * y * place.width;
    std::uint8_t* to = row_of_canvas(y);
    if (!place.is_over) {
      std::copy_n(from, 4 * place.width, to);
      continue;
    }
    for (std::int64_t x = 0; x < place.width; ++x) lay_over(from + 4 * x, to + 4 * x);
  }
  all_.insert(all_.end(), canvas_.begin(), canvas_.end());
  seconds_.push_back(place.seconds > 0 ? place.seconds : kDefaultSeconds);
  if (place.after == AfterFrame::restored) canvas_ = std::move(before);
  if (place.after == AfterFrame::cleared)
    for (std::int64_t y = 0; y < place.height; ++y)
      std::fill_n(row_of_canvas(y), 4 * place.width, std::uint8_t{0});
}

Clip ClipCanvas::clip() const {
  bool is_opaque = true, is_grey = true;
  for (std::size_t i = 0; i < all_.size(); i += 4) {
    is_opaque = is_opaque && all_[i + 3] == 255;
    is_grey = is_grey && all_[i] == all_[i + 1] && all_[i] == all_[i + 2];
  }
  const std::int64_t colours = is_grey ? 1 : 3, channels = colours + (is_opaque ? 0 : 1);
  const Tensor frames = empty({std::ssize(seconds_), height_, width_, channels}, DType::u8);
  std::uint8_t* to = frames.data<std::uint8_t>();
  for (std::size_t i = 0; i < all_.size(); i += 4) {
    to = std::copy_n(all_.data() + i, colours, to);
    if (!is_opaque) *to++ = all_[i + 3];
  }
  return {frames, seconds_};
}

}  // namespace veldt::io
