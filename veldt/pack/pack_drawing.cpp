// Exact pixels are guessed from their neighbours alone: a network of the body's own has not earned its bytes
// on any drawing that was tried. Without exact pixels it is all there is.
#include "veldt/pack/pack_drawing.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/pack/coordinate_training.h"

namespace veldt::pack {
namespace {

std::int64_t weights_of(std::int64_t width, std::int64_t hidden, std::int64_t channels) {
  return 3 * width + (hidden - 1) * width * (width + 1) + (width + 1) * channels;
}

// A network alone: as many weights as fit, by what those of a first try took.
std::string pack_closely(const codec::Drawing& drawing, const DrawingOptions& options,
                         FunctionRef<bool(double)> heard) {
  const std::int64_t limit = *options.max_bytes, hidden = limit < 1500 ? 2 : 3,
                     channels = drawing.numbers_a_pixel();
  std::string best;
  double bits_a_weight = 6.5;
  std::int64_t before = 0, least = codec::kMostWidth + 1;
  constexpr int kTries = 3;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    std::int64_t width = 1;
    while (width < std::min(codec::kMostWidth, least - 1) &&
           static_cast<double>(weights_of(width + 1, hidden, channels)) * bits_a_weight + 100 <
               8.0 * static_cast<double>(limit))
      ++width;
    if (width == before) break;
    before = width;
    const CoordinateTraining how{.widths = std::vector<std::int64_t>(static_cast<std::size_t>(hidden), width),
                                 .steps = options.steps,
                                 .seed = options.seed};
    const codec::CoordinateNetwork network =
        train_coordinates(drawing.numbers, drawing.size, channels, drawing.has_two_tones(), how,
                          [&](double part) { return heard((attempt + part) / kTries); });
    std::string body = write_network(drawing, network);
    bits_a_weight =
        8.0 * static_cast<double>(body.size()) / static_cast<double>(weights_of(width, hidden, channels));
    const bool fits = std::ssize(body) <= limit;
    if (!fits) least = std::min(least, width);
    if (fits && body.size() > best.size()) best = std::move(body);
    if (fits && std::ssize(best) * 100 > limit * 93) break;
  }
  if (best.empty())
    throw ConfigError(str("this picture cannot be packed into ", limit, " bytes"),
                      "the smallest network takes more", "allow some 100 bytes or more");
  return best;
}

}  // namespace

std::string pack_drawing(const Tensor& picture, const DrawingOptions& options,
                         FunctionRef<bool(double)> heard) {
  if (picture.rank() != 3 || picture.dtype() != DType::u8)
    throw ShapeError(str("cannot pack a tensor of shape ", picture.shape()),
                     "a picture is u8 [height, width, channels]", "read it with keep_bytes");
  const Tensor host = contiguous(picture);
  const codec::Drawing drawing =
      codec::drawing_of({host.data<std::uint8_t>(), static_cast<std::size_t>(host.numel())},
                        {picture.size(1), picture.size(0)}, picture.size(2));
  if (options.max_bytes) return pack_closely(drawing, options, heard);
  return write_exactly(drawing, nullptr, [&](double share) { heard(share); });
}

}  // namespace veldt::pack
