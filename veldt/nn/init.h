// Initialisers: they fill a leaf from a stream of random numbers, the last argument of all of them. The same
// state of it gives the same values.
// Tests: tests/nn/linear_test.cpp, tests/nn/golden_test.cpp, tests/field/network_test.cpp
#pragma once

#include <cstdint>

#include "veldt/ops/random.h"
#include "veldt/tensor/tensor.h"

namespace veldt::nn {

// The stream that layers draw from is the process' one, and seed() before a model is built gives it the same
// values in every run.
using veldt::default_rng;
using veldt::seed;

namespace init {

// The number of inputs and outputs of a weight [out, in, ..]; sizes beyond the second multiply both.
struct Fans {
  std::int64_t in = 0;
  std::int64_t out = 0;
};
// Throws ShapeError below two dimensions.
Fans fans_of(const Tensor& weight);

void constant(Tensor leaf, double value);
void uniform(Tensor leaf, double low, double high, Rng& rng = default_rng());
void normal(Tensor leaf, double mean, double deviation, Rng& rng = default_rng());

// U(-b, b), b = gain sqrt(6 / (in + out)); N(0, gain^2 2 / (in + out)). Glorot & Bengio 2010.
void xavier_uniform(Tensor weight, double gain = 1, Rng& rng = default_rng());
void xavier_normal(Tensor weight, double gain = 1, Rng& rng = default_rng());

// U(-b, b), b = sqrt(6 / ((1 + slope^2) in)); N(0, 2 / ((1 + slope^2) in)). He et al. 2015; slope is that of
// a leaky ReLU below zero.
void kaiming_uniform(Tensor weight, double slope = 0, Rng& rng = default_rng());
void kaiming_normal(Tensor weight, double slope = 0, Rng& rng = default_rng());

// U(-b, b), b = sqrt(3 / in); N(0, 1 / in). LeCun et al. 1998, "Efficient BackProp".
void lecun_uniform(Tensor weight, Rng& rng = default_rng());
void lecun_normal(Tensor weight, Rng& rng = default_rng());

// N(mean, deviation^2) within low .. high, as torch.nn.init.trunc_normal_. Throws ConfigError unless the
// bounds are in order and not both beyond the same 7 deviations.
void truncated_normal(Tensor leaf, double mean = 0, double deviation = 1, double low = -2, double high = 2,
                      Rng& rng = default_rng());

// gain times a random matrix [out, in ..] with orthonormal rows, or columns if there are fewer of them: the Q
// of a normal one (Saxe et al. 2014). Computed on the host. Throws ShapeError below two dimensions.
void orthogonal(Tensor weight, double gain = 1, Rng& rng = default_rng());

// Filters [out, in, ..] that pass channels on: the middle of filter i is 1 for channel i, all else 0
// (Zagoruyko & Komodakis 2017), as torch.nn.init.dirac_. Throws ShapeError below three dimensions.
void dirac(Tensor weight);

// SIREN, Sitzmann et al. 2020: the first weight U(-1 / in, 1 / in); the others, the linear head included,
// U(-b, b), b = sqrt(6 / in) / omega; biases U(-1 / sqrt(in), 1 / sqrt(in)), as in Linear.
void siren_first(Tensor weight, Rng& rng = default_rng());
void siren_hidden(Tensor weight, double omega, Rng& rng = default_rng());

}  // namespace init
}  // namespace veldt::nn
