// The sides of pictures that grow while a network learns.
#include "veldt/data/progressive.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/interpolate.h"
#include "veldt/ops/pooling.h"

namespace veldt::data {

std::int64_t ProgressiveResizing::side(std::int64_t whole, double share) const {
  check();
  if (share >= 1 - finetune_fraction || initial_scale == 1) return whole;
  const double scale = initial_scale + (1 - initial_scale) * std::max(share, 0.0) / (1 - finetune_fraction);
  const auto pixels = static_cast<std::int64_t>(std::floor(scale * static_cast<double>(whole) + 1e-9));
  return std::clamp<std::int64_t>(pixels / size_increment * size_increment, std::min(size_increment, whole),
                                  whole);
}

Tensor ProgressiveResizing::operator()(const Tensor& pictures, double share) const {
  if (pictures.rank() != 4)
    throw ShapeError(str("cannot resize pictures of the shape ", pictures.shape()),
                     "they are [n, channels, height, width]", "resize other data by a function of your own");
  const std::int64_t height = side(pictures.size(2), share), width = side(pictures.size(3), share);
  if (height == pictures.size(2) && width == pictures.size(3)) return pictures;
  // The nearest two pixels of each side are all that linear weights see.
  if (2 * height < pictures.size(2) || 2 * width < pictures.size(3))
    return adaptive_avg_pool2d(pictures, PerDim{height, width});
  return interpolate(pictures, {.size = PerDim{height, width}, .mode = Interpolation::linear});
}

std::string ProgressiveResizing::text() const {
  return str("progressive_resizing(", initial_scale, ", ", finetune_fraction, ", ", size_increment, ")");
}

void ProgressiveResizing::check() const {
  if (!(initial_scale > 0 && initial_scale <= 1))
    throw ConfigError(str("initial_scale cannot be ", initial_scale),
                      "it is the share of a side that pictures begin with",
                      "give a number above 0, and at most 1");
  if (!(finetune_fraction >= 0 && finetune_fraction <= 1))
    throw ConfigError(str("finetune_fraction cannot be ", finetune_fraction), "it is a share of the steps",
                      "give a number from 0 to 1");
  if (size_increment < 1)
    throw ConfigError(str("size_increment cannot be ", size_increment), "it is a number of pixels",
                      "give 1 or more");
}

}  // namespace veldt::data
