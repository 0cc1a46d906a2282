// Shrinks pictures, has a prior redraw them, and counts the decibels that it gains over Lanczos3.
#include "recipes/prior/judge.h"

#include <algorithm>
#include <cmath>

#include "veldt/data/resample.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/pooling.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::prior {
namespace {

double psnr(const Tensor& drawn, const Tensor& truth) {
  return -10 * std::log10(mean(square(clamp(drawn, 0, 1) - truth)).item());
}

Tensor shrunk_by(std::int64_t n, const Tensor& picture) {
  return data::resample(picture, {picture.size(1) / n, picture.size(0) / n}, data::Filter::area);
}

}  // namespace

Gain gain_over_lanczos(const field::Prior& prior, const Tensor& picture, int turns) {
  constexpr std::int64_t kScale = field::Prior::kScale;
  const std::int64_t height = picture.size(0) / kScale, width = picture.size(1) / kScale;
  const Tensor truth = narrow(narrow(picture, 0, 0, height * kScale), 1, 0, width * kScale);
  const double levels = prior.options().two_tone ? 1 : 255;
  const Tensor shrunk = floor(shrunk_by(kScale, truth) * levels + 0.5) / levels;
  const Tensor drawn = field::redraw(prior, movedim(shrunk, 2, 0), turns);
  const auto gain_at = [&](std::int64_t scale) {
    const std::int64_t less = kScale / scale;
    const Tensor goal = less == 1 ? truth : shrunk_by(less, truth);
    const Tensor lanczos = data::resample(shrunk, {width * scale, height * scale}, data::Filter::lanczos3);
    const Tensor ours = less == 1 ? drawn : avg_pool2d(drawn, less);
    return psnr(movedim(ours, 0, 2), goal) - psnr(lanczos, goal);
  };
  return {gain_at(4), gain_at(2)};
}

Tensor centre(const Tensor& picture, std::int64_t side) {
  Tensor part = picture;
  for (const int d : {0, 1}) {
    const std::int64_t length = std::min(side, picture.size(d));
    part = narrow(part, d, (picture.size(d) - length) / 2, length);
  }
  return part;
}

}  // namespace veldt::prior
