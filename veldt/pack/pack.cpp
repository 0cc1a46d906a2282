// Tries the exact pixels of what is small or looks drawn: a moment, or up to a minute for 2^22 pixels.
#include "veldt/pack/pack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "veldt/codec/alpha.h"
#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/pack/pack_drawing.h"
#include "veldt/pack/transparent.h"
#include "veldt/tensor/graph.h"

namespace veldt::pack {
namespace {

// Of exact pixels: of any picture, of one with alpha, of what looks drawn, which is the fastest.
constexpr std::int64_t kTriedPixels = std::int64_t{1} << 18, kTriedPixelsWithAlpha = std::int64_t{1} << 20,
                       kTriedPixelsOfDrawings = codec::kMostDrawingPixels;
constexpr std::size_t kFewColours = 256;

// Whether so few colours are in it that its exact pixels may be few bytes.
bool has_few_colours(const std::uint8_t* bytes, std::int64_t pixels, std::int64_t channels) {
  std::set<std::uint32_t> colours;
  for (std::int64_t i = 0; i < pixels; ++i) {
    std::uint32_t colour = 0;
    for (std::int64_t c = 0; c < channels; ++c) colour = colour << 8 | bytes[i * channels + c];
    if (colours.insert(colour).second && colours.size() > kFewColours) return false;
  }
  return true;
}

// Whether half of the pixels are those to their left, as on a screen or a page: in a photograph few are.
bool is_flat(const std::uint8_t* bytes, const Size& size, std::int64_t channels) {
  const std::int64_t row = size.width * channels;
  std::int64_t same = 0;
  for (std::int64_t y = 0; y < size.height; ++y)
    for (const std::uint8_t* at = bytes + y * row + channels; at < bytes + (y + 1) * row; at += channels)
      same += std::equal(at, at + channels, at - channels);
  return 2 * same >= size.width * size.height;
}

// Three channels, grey three times.
std::vector<std::uint8_t> colours_of(const std::uint8_t* bytes, std::int64_t pixels, std::int64_t channels) {
  if (channels == 3) return {bytes, bytes + 3 * pixels};
  std::vector<std::uint8_t> rgb;
  rgb.reserve(static_cast<std::size_t>(3 * pixels));
  for (const std::uint8_t* at = bytes; at < bytes + pixels * channels; at += channels)
    for (const std::int64_t c : {0, 1, 2}) rgb.push_back(at[channels < 3 ? 0 : c]);
  return rgb;
}

std::vector<std::uint8_t> alpha_of(const std::uint8_t* bytes, std::int64_t pixels, std::int64_t channels) {
  std::vector<std::uint8_t> alpha;
  alpha.reserve(static_cast<std::size_t>(pixels));
  for (std::int64_t i = 0; i < pixels; ++i) alpha.push_back(bytes[i * channels + channels - 1]);
  return alpha;
}

// The body of a photograph; its alpha counts among the bits, but a quarter of them is for the colours.
PackedPhotograph photograph_of(const std::uint8_t* bytes, Size size, std::int64_t channels,
                               PhotographOptions options, FunctionRef<bool(const PackProgress&)> heard) {
  const std::int64_t pixels = size.width * size.height;
  std::vector<std::uint8_t> rgb = colours_of(bytes, pixels, channels);
  if (channels % 2 == 1) return pack_photograph(size, rgb, options, heard);
  const std::vector<std::uint8_t> alpha = alpha_of(bytes, pixels, channels);
  const std::string section = codec::write_alpha(alpha, size);
  const double asked = options.bits_a_pixel,
               taken = 8 * static_cast<double>(section.size()) / static_cast<double>(pixels);
  options.bits_a_pixel = std::max({asked - taken, asked / 4, kLeastBits});
  PackedPhotograph photograph =
      pack_photograph(size, clear_filled(std::move(rgb), alpha, size), options, heard);
  photograph.body = codec::join_alpha(section, photograph.body);
  return photograph;
}

}  // namespace

Packed pack(const Tensor& picture, const PackOptions& options, FunctionRef<bool(const PackProgress&)> heard) {
  if (picture.rank() != 3 || picture.dtype() != DType::u8 || picture.numel() == 0 || picture.size(2) > 4)
    throw ShapeError("cannot pack this tensor",
                     str("it is ", picture.dtype(), " ", picture.shape(), ", not u8 [height, width, 1 to 4]"),
                     "read the picture with keep_bytes");
  if (options.wanted != Wanted::exact) check_options(options.photograph);
  NoGrad off;
  const Tensor dense = contiguous(picture);
  const auto* bytes = dense.data<std::uint8_t>();
  const Size size{picture.size(1), picture.size(0)};
  const std::int64_t pixels = size.width * size.height, channels = picture.size(2);
  // What has alpha is more often drawn than seen.
  const bool tries = options.wanted == Wanted::automatic &&
                     (pixels <= kTriedPixels || (pixels <= kTriedPixelsWithAlpha && channels % 2 == 0) ||
                      (pixels <= kTriedPixelsOfDrawings &&
                       (has_few_colours(bytes, pixels, channels) || is_flat(bytes, size, channels))));
  std::string exact;  // the body of a drawing
  if (options.wanted == Wanted::exact || tries)
    exact = pack_drawing(dense, [&](double share) {
      heard({.step = std::llround(share * static_cast<double>(size.height)),
             .steps = size.height,
             .exact = true});
    });
  const auto drawing = [&]() -> Packed {
    return {write_packed(codec::Family::drawing, size, static_cast<int>(channels), exact),
            codec::Family::drawing, std::numeric_limits<double>::infinity()};
  };
  // Of a quality nobody knows the size before it is learned.
  const double most =
      options.photograph.psnr ? 0 : options.photograph.bits_a_pixel * static_cast<double>(pixels) / 8;
  if (!exact.empty() && (options.wanted == Wanted::exact || static_cast<double>(exact.size()) <= most))
    return drawing();
  const PackedPhotograph photograph = photograph_of(bytes, size, channels, options.photograph, heard);
  if (!exact.empty() && exact.size() <= photograph.body.size()) return drawing();
  return {write_packed(codec::Family::photograph, size, static_cast<int>(channels), photograph.body),
          codec::Family::photograph, photograph.psnr};
}

}  // namespace veldt::pack
