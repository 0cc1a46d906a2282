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

double gain_at(std::int64_t scale, const field::Prior& prior, const Tensor& truth, int turns) {
  const std::int64_t height = truth.size(0) / scale, width = truth.size(1) / scale;
  const Tensor exact = data::resample(truth, height, width, data::Filter::area);
  const Tensor shrunk = floor(exact * 255 + 0.5) / 255;
  const Tensor lanczos = data::resample(shrunk, height * scale, width * scale, data::Filter::lanczos3);
  Tensor drawn = field::redraw(prior, movedim(shrunk, 2, 0), turns);
  if (scale < field::Prior::kScale) drawn = avg_pool2d(drawn, field::Prior::kScale / scale);
  return psnr(movedim(drawn, 0, 2), truth) - psnr(lanczos, truth);
}

}  // namespace

Gain gain_over_lanczos(const field::Prior& prior, const Tensor& truth, int turns) {
  const Tensor whole = narrow(narrow(truth, 0, 0, truth.size(0) / 4 * 4), 1, 0, truth.size(1) / 4 * 4);
  return {gain_at(4, prior, whole, turns), gain_at(2, prior, whole, turns)};
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
