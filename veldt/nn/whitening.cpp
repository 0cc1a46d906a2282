// The moments of patches, and their principal directions.
#include "veldt/nn/whitening.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/convolution.h"
#include "veldt/ops/create.h"
#include "veldt/ops/eigen.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::nn {
namespace {

// The mean product of each two numbers of a patch, over all patches: [size, size], row by row.
std::vector<double> patch_moments(const Tensor& pictures, std::int64_t kernel) {
  const std::int64_t n = pictures.size(0), in = pictures.size(1), height = pictures.size(2),
                     width = pictures.size(3), size = in * kernel * kernel;
  const std::vector<double> all = veldt::to(pictures, DType::f64).values<double>();
  std::vector<double> sums(static_cast<std::size_t>(size * size));
  std::vector<double> patch(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t y = 0; y + kernel <= height; ++y)
      for (std::int64_t x = 0; x + kernel <= width; ++x) {
        double* to = patch.data();
        for (std::int64_t c = 0; c < in; ++c)
          for (std::int64_t row = y; row < y + kernel; ++row)
            to = std::copy_n(all.data() + ((i * in + c) * height + row) * width + x, kernel, to);
        for (std::int64_t a = 0; a < size; ++a)
          for (std::int64_t b = 0; b <= a; ++b) sums[a * size + b] += patch[a] * patch[b];
      }
  const double count = static_cast<double>(n * (height - kernel + 1) * (width - kernel + 1));
  for (std::int64_t a = 0; a < size; ++a)
    for (std::int64_t b = 0; b <= a; ++b) sums[b * size + a] = sums[a * size + b] /= count;
  return sums;
}

}  // namespace

WhiteningConv2d::WhiteningConv2d(std::int64_t in, std::int64_t kernel, WhiteningOptions o)
    : in_(in), kernel_(kernel), eps_(o.eps) {
  constexpr std::int64_t kMost = 512;
  if (in < 1 || kernel < 1 || in > kMost || kernel > kMost || in * kernel * kernel > kMost)
    throw ConfigError(str("cannot build WhiteningConv2d(", in, ", ", kernel, ')'),
                      str("a patch has from 1 to ", kMost, " numbers"), "give a kernel of 2 or 3");
  if (!(eps_ > 0) || !std::isfinite(eps_))
    throw ConfigError(str("a whitening cannot have an eps of ", eps_),
                      "it keeps directions that hardly vary from being divided by 0", "give 5e-4");
  const std::int64_t size = in * kernel * kernel;
  const Tensor unit = eye(size, size, o.dtype, o.device);
  weight_ = contiguous(reshape(cat({unit, -unit}, 0), {2 * size, in, kernel, kernel}));
  if (o.bias) bias_ = parameter(zeros({2 * size}, o.dtype, o.device));
}

void WhiteningConv2d::fit(const Tensor& pictures) {
  if (pictures.rank() != 4 || pictures.size(1) != in_ || pictures.size(0) < 1 || pictures.size(2) < kernel_ ||
      pictures.size(3) < kernel_)
    throw ShapeError(
        str("cannot whiten ", pictures.shape(), " by patches of ", in_, " x ", kernel_, " x ", kernel_),
        "it takes pictures [n, channels, height, width] that have a patch or more",
        "give pictures of as many channels, and larger ones");
  const std::int64_t size = in_ * kernel_ * kernel_;
  const std::vector<double> moments = patch_moments(veldt::to(pictures, Device{}), kernel_);
  if (!std::all_of(moments.begin(), moments.end(), [](double v) { return std::isfinite(v); }))
    throw Error("cannot whiten these pictures", "some of their numbers are not finite, or too large",
                "look for them in the data");
  // Each direction over the root of its variance, the strongest first.
  const auto [variances, directions] = eigh(Tensor::from<double>({size, size}, moments));
  const Tensor scaled = directions / sqrt(maximum(variances, zeros_like(variances)) + eps_);
  const Tensor rows = flip(transpose(scaled, 0, 1), {0});
  const Tensor filters = reshape(cat({rows, -rows}, 0), weight_.shape());
  weight_.assign(veldt::to(veldt::to(filters, weight_.dtype()), weight_.device()));
}

Tensor WhiteningConv2d::forward(const Tensor& x) const { return conv2d(x, weight_, bias_); }

std::string WhiteningConv2d::title() const {
  return str("WhiteningConv2d(", in_, ", ", kernel_, bias_.defined() ? ")" : ", no bias)");
}

double WhiteningConv2d::flops(const Shape&, const Shape& output) const {
  return 2 * static_cast<double>(in_ * kernel_ * kernel_) * static_cast<double>(numel(output));
}

}  // namespace veldt::nn
