// Initial values: uniform and normal ones by fan-in and fan-out, orthogonal matrices, and SIREN's.
#include "veldt/nn/init.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::nn {

namespace init {
namespace {

// Random numbers are made in f32 and f64; other dtypes round them.
DType drawn_for(const Tensor& leaf) { return leaf.dtype() == DType::f64 ? DType::f64 : DType::f32; }

void symmetric(Tensor leaf, double bound, Rng& rng) { uniform(leaf, -bound, bound, rng); }

// The probability of a standard normal below x.
double normal_below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

// The quantile u of a standard normal truncated to a .. b: Newton's method, with bisection if it leaves the
// bracket.
double truncated_quantile(double u, double a, double b) {
  // Computed in the smaller tail, so that no digits are lost.
  if (a > 0) return -truncated_quantile(1 - u, -b, -a);
  const double wanted = normal_below(a) + u * (normal_below(b) - normal_below(a));
  double low = std::max(a, -9.0), high = std::min(b, 9.0), x = (low + high) / 2;
  for (int i = 0; i < 60; ++i) {
    const double excess = normal_below(x) - wanted;
    (excess < 0 ? low : high) = x;
    const double slope = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    double next = x - excess / slope;
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (std::abs(next - x) <= 1e-14) return next;
    x = next;
  }
  return x;
}

// Makes the rows, each `length` long, orthonormal: Gram-Schmidt, twice, which is as exact as Householder's
// method (Giraud et al. 2005). The rows are random, so that none depends on the others.
void orthonormalize(std::vector<double>& rows, std::int64_t count, std::int64_t length) {
  const auto row = [&](std::int64_t i) { return rows.data() + i * length; };
  for (std::int64_t i = 0; i < count; ++i) {
    for (int round = 0; round < 2; ++round)
      for (std::int64_t k = 0; k < i; ++k) {
        const double along = std::inner_product(row(i), row(i) + length, row(k), 0.0);
        for (std::int64_t c = 0; c < length; ++c) row(i)[c] -= along * row(k)[c];
      }
    const double norm = std::sqrt(std::inner_product(row(i), row(i) + length, row(i), 0.0));
    for (std::int64_t c = 0; c < length; ++c) row(i)[c] /= norm;
  }
}

}  // namespace

Fans fans_of(const Tensor& weight) {
  if (weight.rank() < 2)
    throw ShapeError(str("a tensor of shape ", weight.shape(), " has no inputs and outputs to count"),
                     "a weight is [out, in] or [out, in, ..]", "use init::uniform() or init::constant()");
  std::int64_t field = 1;
  for (int d = 2; d < weight.rank(); ++d) field *= weight.size(d);
  return {weight.size(1) * field, weight.size(0) * field};
}

void constant(Tensor leaf, double value) {
  leaf.assign(full(leaf.shape(), value, leaf.dtype(), leaf.device()));
}

void uniform(Tensor leaf, double low, double high, Rng& rng) {
  leaf.assign(rand(leaf.shape(), rng, low, high, drawn_for(leaf), leaf.device()));
}

void normal(Tensor leaf, double mean, double deviation, Rng& rng) {
  leaf.assign(randn(leaf.shape(), rng, mean, deviation, drawn_for(leaf), leaf.device()));
}

void xavier_uniform(Tensor weight, double gain, Rng& rng) {
  const Fans fans = fans_of(weight);
  symmetric(weight, gain * std::sqrt(6.0 / static_cast<double>(fans.in + fans.out)), rng);
}

void xavier_normal(Tensor weight, double gain, Rng& rng) {
  const Fans fans = fans_of(weight);
  normal(weight, 0, gain * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out)), rng);
}

void kaiming_uniform(Tensor weight, double slope, Rng& rng) {
  symmetric(weight, std::sqrt(6.0 / ((1 + slope * slope) * static_cast<double>(fans_of(weight).in))), rng);
}

void kaiming_normal(Tensor weight, double slope, Rng& rng) {
  normal(weight, 0, std::sqrt(2.0 / ((1 + slope * slope) * static_cast<double>(fans_of(weight).in))), rng);
}

void lecun_uniform(Tensor weight, Rng& rng) {
  symmetric(weight, std::sqrt(3.0 / static_cast<double>(fans_of(weight).in)), rng);
}

void lecun_normal(Tensor weight, Rng& rng) {
  normal(weight, 0, std::sqrt(1.0 / static_cast<double>(fans_of(weight).in)), rng);
}

void truncated_normal(Tensor leaf, double mean, double deviation, double low, double high, Rng& rng) {
  const double a = (low - mean) / deviation, b = (high - mean) / deviation;
  if (!(deviation > 0 && a < b && a < 7 && b > -7))
    throw ConfigError(
        str("cannot draw N(", mean, ", ", deviation, "^2) between ", low, " and ", high),
        "the deviation must be above 0, and the bounds in order and not beyond the same 7 deviations",
        "give bounds around the mean");
  const std::int64_t n = leaf.numel();
  const std::vector<double> draws = rand({n}, rng, 0, 1, DType::f64).values<double>();
  std::vector<double> out(static_cast<std::size_t>(n));
  parallel_for(n, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      out[at] = std::clamp(mean + deviation * truncated_quantile(draws[at], a, b), low, high);
    }
  });
  leaf.assign(veldt::to(Tensor::from<double>(leaf.shape(), out), leaf.device()));
}

void orthogonal(Tensor weight, double gain, Rng& rng) {
  const std::int64_t rows = weight.size(0), columns = fans_of(weight).in;
  const std::int64_t count = std::min(rows, columns), length = std::max(rows, columns);
  std::vector<double> q = randn({count, length}, rng, 0, 1, DType::f64).values<double>();
  orthonormalize(q, count, length);
  const Tensor wide = Tensor::from<double>({count, length}, q);
  const Tensor tall = rows <= columns ? wide : transpose(wide);
  weight.assign(veldt::to(reshape(tall * gain, weight.shape()), weight.device()));
}

void dirac(Tensor weight) {
  if (weight.rank() < 3)
    throw ShapeError(str("filters cannot be ", weight.shape()), "they are [out, in, ..], with a kernel",
                     "use it for convolutions");
  constant(weight, 0);
  Tensor middle = weight;
  for (int d = weight.rank() - 1; d >= 2; --d) middle = select(middle, d, weight.size(d) / 2);
  middle.assign(eye(weight.size(0), weight.size(1), weight.dtype(), weight.device()));
}

void siren_first(Tensor weight, Rng& rng) {
  symmetric(weight, 1.0 / static_cast<double>(fans_of(weight).in), rng);
}

void siren_hidden(Tensor weight, double omega, Rng& rng) {
  if (!(omega > 0))
    throw ConfigError(str("omega cannot be ", omega), "the bound of a SIREN weight is divided by it",
                      "give a positive omega, such as 30");
  symmetric(weight, std::sqrt(6.0 / static_cast<double>(fans_of(weight).in)) / omega, rng);
}

}  // namespace init
}  // namespace veldt::nn
