// Corrupts pictures by moving, hiding, dimming, blurring and coding them.
#include "veldt/data/corrupt.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "veldt/data/picture_parts.h"
#include "veldt/io/image.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::data {
namespace {

using Index = std::int64_t;

// Each row of `count` numbers, `stride` apart, convolved with the weights, which are symmetric: weights[0] is
// the middle's.
void blur_line(const float* from, float* to, Index count, Index stride, const std::vector<float>& weights) {
  const Index radius = std::ssize(weights) - 1;
  for (Index i = 0; i < count; ++i) {
    float sum = weights[0] * from[i * stride];
    for (Index k = 1; k <= radius; ++k)
      sum += weights[static_cast<std::size_t>(k)] *
             (from[std::max<Index>(i - k, 0) * stride] + from[std::min<Index>(i + k, count - 1) * stride]);
    to[i * stride] = sum;
  }
}

std::vector<float> bell(double deviation) {
  const auto radius = static_cast<Index>(std::ceil(3 * deviation));
  std::vector<double> exact;
  double sum = 0;
  for (Index k = 0; k <= radius; ++k) {
    const double at = static_cast<double>(k) / deviation;
    exact.push_back(std::exp(-at * at / 2));
    sum += k == 0 ? exact.back() : 2 * exact.back();
  }
  std::vector<float> weights;
  for (const double w : exact) weights.push_back(static_cast<float>(w / sum));
  return weights;
}

}  // namespace

Transform shift(Index pixels) {
  require(pixels >= 0, str("cannot move by ", pixels, " pixels"), "it must be 0 or more",
          "4 is an eighth of a picture of 32 x 32");
  return of_picture([pixels](const Tensor& picture, Rng& rng) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(rng.next_uniform());
    const Index channels = picture.size(0), height = picture.size(1), width = picture.size(2);
    const auto part = [&](double of, Index most) {
      return std::clamp<Index>(std::llround(static_cast<double>(pixels) * of), -most, most);
    };
    const Index down = part(std::sin(angle), height), right = part(std::cos(angle), width);
    const Tensor moved = zeros(picture.shape());
    const Index first = std::max<Index>(right, 0), count = width - std::abs(right);
    for (Index c = 0; c < channels; ++c)
      for (Index y = std::max<Index>(down, 0); y < std::min(height, height + down); ++y)
        std::copy_n(picture.data<float>() + (c * height + y - down) * width + first - right, count,
                    moved.data<float>() + (c * height + y) * width + first);
    return moved;
  });
}

Transform rotate(double degrees) {
  require(degrees >= 0 && degrees <= 180, str("cannot turn by ", degrees, " degrees"),
          "it is from 0 to 180, to either side", "15 is usual");
  return of_picture([degrees](const Tensor& picture, Rng& rng) {
    const double turn = degrees * std::numbers::pi / 180;
    return placed(picture, {.turn = rng.next_below(2) == 0 ? turn : -turn});
  });
}

Transform erase(Index side) {
  require(side >= 1, str("cannot erase a square with a side of ", side), "it must be 1 or more",
          "8 is a quarter of the side of 32 x 32");
  return of_picture([side](const Tensor& given, Rng& rng) {
    const Tensor picture = given + 0.0;
    const Index h = std::min(side, given.size(1)), w = std::min(side, given.size(2));
    const auto pick = [&](Index room) {
      return static_cast<Index>(rng.next_below(static_cast<std::uint64_t>(room) + 1));
    };
    const Index top = pick(given.size(1) - h), left = pick(given.size(2) - w);
    Tensor part = slice(slice(picture, 1, top, top + h), 2, left, left + w);
    part.assign(zeros(part.shape()));
    return picture;
  });
}

Transform brightness(double factor) {
  require(factor >= 0 && factor <= 1e3, str("cannot make a picture brighter by a factor of ", factor),
          "it must be from 0 to 1,000", "0.5 is half as bright");
  return of_picture([factor](const Tensor& picture, Rng&) { return clamp(picture * factor, 0, 1); });
}

Transform contrast(double factor) {
  require(factor >= 0 && factor <= 1e3, str("cannot change the contrast by a factor of ", factor),
          "it must be from 0 to 1,000", "0.5 is half the contrast");
  return of_picture([factor](const Tensor& given, Rng&) {
    const Tensor picture = given + 0.0;
    float* const x = picture.data<float>();
    const float mean = mean_luma(x, picture.size(1) * picture.size(2), picture.size(0));
    const std::vector<float> other(static_cast<std::size_t>(picture.numel()), mean);
    blend(x, picture.numel(), other.data(), static_cast<float>(factor));
    return picture;
  });
}

Transform gaussian_blur(double deviation) {
  require(deviation > 0 && deviation <= 100, str("cannot blur with a deviation of ", deviation, " pixels"),
          "it is above 0 and at most 100", "1 is usual");
  return of_picture([weights = bell(deviation)](const Tensor& picture, Rng&) {
    const Index height = picture.size(1), width = picture.size(2);
    const Tensor rows = empty(picture.shape()), blurred = empty(picture.shape());
    for (Index c = 0; c < picture.size(0); ++c) {
      const Index plane = c * height * width;
      for (Index y = 0; y < height; ++y)
        blur_line(picture.data<float>() + plane + y * width, rows.data<float>() + plane + y * width, width, 1,
                  weights);
      for (Index x = 0; x < width; ++x)
        blur_line(rows.data<float>() + plane + x, blurred.data<float>() + plane + x, height, width, weights);
    }
    return blurred;
  });
}

Transform jpeg(Index quality) {
  require(quality >= 1 && quality <= 100, str("a JPEG's quality cannot be ", quality), "it is from 1 to 100",
          "10 shows the blocks");
  return of_picture([quality](const Tensor& picture, Rng&) {
    const Tensor levels = to(round(clamp(permute(picture, {1, 2, 0}), 0, 1) * 255.0), DType::u8);
    const std::string bytes = io::jpeg_bytes(contiguous(levels), static_cast<int>(quality));
    const Tensor read = io::read_picture(std::as_bytes(std::span(bytes)), "a corrupted picture").image;
    return contiguous(permute(read, {2, 0, 1}));
  });
}

}  // namespace veldt::data
