// Moves pixels, and blends them.
#include "veldt/data/picture_parts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "veldt/ops/create.h"

namespace veldt::data {
namespace {

using Index = std::int64_t;

// Where an output pixel comes from: the input's row is m[0] y + m[1] x + m[2], its column m[3] y + m[4] x +
// m[5].
using Map = std::array<double, 6>;

// Bilinear; outside is `fill`.
Tensor warp(const Tensor& picture, const Map& m, float fill) {
  const Index channels = picture.size(0), height = picture.size(1), width = picture.size(2);
  const Tensor out = empty(picture.shape());
  const float* const from = picture.data<float>();
  float* const to = out.data<float>();
  for (Index y = 0; y < height; ++y)
    for (Index x = 0; x < width; ++x) {
      const double row = m[0] * static_cast<double>(y) + m[1] * static_cast<double>(x) + m[2],
                   col = m[3] * static_cast<double>(y) + m[4] * static_cast<double>(x) + m[5];
      const double top = std::floor(row), left = std::floor(col);
      const auto down = static_cast<float>(row - top), right = static_cast<float>(col - left);
      for (Index c = 0; c < channels; ++c) {
        const float* const plane = from + c * height * width;
        const auto at = [&](double r, double q) {
          const bool inside =
              r >= 0 && q >= 0 && r < static_cast<double>(height) && q < static_cast<double>(width);
          return inside ? plane[static_cast<Index>(r) * width + static_cast<Index>(q)] : fill;
        };
        const float above = at(top, left) + right * (at(top, left + 1) - at(top, left));
        const float below = at(top + 1, left) + right * (at(top + 1, left + 1) - at(top + 1, left));
        to[(c * height + y) * width + x] = above + down * (below - above);
      }
    }
  return out;
}

}  // namespace

Tensor placed(const Tensor& picture, const Placement& p) {
  const auto height = static_cast<double>(picture.size(1)), width = static_cast<double>(picture.size(2));
  // The inverse map: move, rotate, shrink, shear. Rows count downwards, so that a turn is counter-clockwise.
  const double c = std::cos(p.turn) / p.scale, s = std::sin(p.turn) / p.scale;
  const double my = (height - 1) / 2, mx = (width - 1) / 2;
  const double yy = c, yx = s, xy = -s + p.shear * c, xx = c + p.shear * s;
  return warp(
      picture,
      {yy, yx, my - yy * (my + p.dy) - yx * (mx + p.dx), xy, xx, mx - xy * (my + p.dy) - xx * (mx + p.dx)},
      static_cast<float>(p.fill));
}

void blend(float* x, Index count, const float* other, float factor) {
  for (Index i = 0; i < count; ++i) x[i] = std::clamp(other[i] + factor * (x[i] - other[i]), 0.0f, 1.0f);
}

std::vector<float> luma(const float* planes, Index pixels, Index channels) {
  if (channels != 3) return {planes, planes + pixels};
  std::vector<float> grey(static_cast<std::size_t>(pixels));
  for (Index i = 0; i < pixels; ++i)  // ITU-R BT.601
    grey[static_cast<std::size_t>(i)] =
        0.299f * planes[i] + 0.587f * planes[i + pixels] + 0.114f * planes[i + 2 * pixels];
  return grey;
}

float mean_luma(const float* planes, Index pixels, Index channels) {
  double sum = 0;
  for (const float v : luma(planes, pixels, channels)) sum += static_cast<double>(v);
  return static_cast<float>(sum / static_cast<double>(pixels));
}

}  // namespace veldt::data
