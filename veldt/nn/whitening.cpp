// The moments of patches, and their principal directions by Jacobi's rotations.
#include "veldt/nn/whitening.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/convolution.h"
#include "veldt/ops/create.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::nn {
namespace {

// A symmetric matrix [size, size], row by row.
using Symmetric = std::vector<double>;

// The mean product of each two numbers of a patch, over all patches.
Symmetric patch_moments(const Tensor& pictures, std::int64_t kernel) {
  const std::int64_t n = pictures.size(0), in = pictures.size(1), height = pictures.size(2),
                     width = pictures.size(3), size = in * kernel * kernel;
  const std::vector<double> all = veldt::to(pictures, DType::f64).values<double>();
  Symmetric sums(static_cast<std::size_t>(size * size));
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

// Makes m diagonal by rotations of two rows and columns at a time (Jacobi 1846), which it also does to the
// rows of `directions`: in the end they are the eigenvectors, and the diagonal the eigenvalues.
void diagonalise(Symmetric& m, Symmetric& directions, std::int64_t size) {
  constexpr int kMostSweeps = 60;  // a dozen is usual
  const auto at = [&](std::int64_t i, std::int64_t j) -> double& { return m[i * size + j]; };
  const double whole = std::inner_product(m.begin(), m.end(), m.begin(), 0.0);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double beside = 0;
    for (std::int64_t p = 0; p < size; ++p)
      for (std::int64_t q = 0; q < p; ++q) beside += at(p, q) * at(p, q);
    if (!(beside > 1e-30 * whole)) return;
    for (std::int64_t p = 0; p < size; ++p)
      for (std::int64_t q = p + 1; q < size; ++q) {
        if (at(p, q) == 0) continue;
        const double ratio = (at(q, q) - at(p, p)) / (2 * at(p, q));
        const double t = (ratio < 0 ? -1 : 1) / (std::abs(ratio) + std::hypot(ratio, 1.0));
        const double c = 1 / std::hypot(t, 1.0), s = t * c;
        const auto turn = [&](double& a, double& b) {
          const double before = a;
          a = c * before - s * b;
          b = s * before + c * b;
        };
        for (std::int64_t k = 0; k < size; ++k) turn(at(k, p), at(k, q));
        for (std::int64_t k = 0; k < size; ++k) turn(at(p, k), at(q, k));
        for (std::int64_t k = 0; k < size; ++k) turn(directions[p * size + k], directions[q * size + k]);
      }
  }
}

// Rows of the unit matrix, then their negatives: [2 size, size].
std::vector<double> with_negatives(const std::vector<double>& rows) {
  std::vector<double> all = rows;
  std::transform(rows.begin(), rows.end(), std::back_inserter(all), [](double v) { return -v; });
  return all;
}

Symmetric unit_matrix(std::int64_t size) {
  Symmetric unit(static_cast<std::size_t>(size * size));
  for (std::int64_t i = 0; i < size; ++i) unit[i * size + i] = 1;
  return unit;
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
  Symmetric moments = patch_moments(veldt::to(pictures, Device{}), kernel_);
  if (!std::all_of(moments.begin(), moments.end(), [](double v) { return std::isfinite(v); }))
    throw Error("cannot whiten these pictures", "some of their numbers are not finite, or too large",
                "look for them in the data");
  Symmetric directions = unit_matrix(size);
  diagonalise(moments, directions, size);
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return moments[a * size + a] > moments[b * size + b];
  });
  std::vector<double> rows;
  for (const std::int64_t i : order) {
    const double* const row = directions.data() + i * size;
    // A direction and its negative are the same: the largest number is positive.
    const double most =
        *std::max_element(row, row + size, [](double a, double b) { return std::abs(a) < std::abs(b); });
    const double scale = (most < 0 ? -1 : 1) / std::sqrt(std::max(0.0, moments[i * size + i]) + eps_);
    for (std::int64_t k = 0; k < size; ++k) rows.push_back(scale * row[k]);
  }
  weight_.assign(veldt::to(Tensor::from<double>(weight_.shape(), with_negatives(rows)), weight_.device()));
}

Tensor WhiteningConv2d::forward(const Tensor& x) const { return conv2d(x, weight_, bias_); }

std::string WhiteningConv2d::title() const {
  return str("WhiteningConv2d(", in_, ", ", kernel_, bias_.defined() ? ")" : ", no bias)");
}

double WhiteningConv2d::flops(const Shape&, const Shape& output) const {
  return 2 * static_cast<double>(in_ * kernel_ * kernel_) * static_cast<double>(numel(output));
}

}  // namespace veldt::nn
