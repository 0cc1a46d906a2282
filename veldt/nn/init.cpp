#include "veldt/nn/init.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/create.h"

namespace veldt::nn {

Rng& default_rng() {
  static Rng rng(0);
  return rng;
}

void seed(std::uint64_t value) { default_rng() = Rng(value); }

namespace init {
namespace {

// Random numbers are made in f32 and f64; other dtypes round them.
DType drawn_for(const Tensor& leaf) { return leaf.dtype() == DType::f64 ? DType::f64 : DType::f32; }

void symmetric(Tensor leaf, double bound, Rng& rng) { uniform(leaf, -bound, bound, rng); }

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

void xavier_uniform(Tensor weight, Rng& rng, double gain) {
  const Fans fans = fans_of(weight);
  symmetric(weight, gain * std::sqrt(6.0 / static_cast<double>(fans.in + fans.out)), rng);
}

void xavier_normal(Tensor weight, Rng& rng, double gain) {
  const Fans fans = fans_of(weight);
  normal(weight, 0, gain * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out)), rng);
}

void kaiming_uniform(Tensor weight, Rng& rng, double slope) {
  symmetric(weight, std::sqrt(6.0 / ((1 + slope * slope) * static_cast<double>(fans_of(weight).in))), rng);
}

void kaiming_normal(Tensor weight, Rng& rng, double slope) {
  normal(weight, 0, std::sqrt(2.0 / ((1 + slope * slope) * static_cast<double>(fans_of(weight).in))), rng);
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
