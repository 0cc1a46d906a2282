// How far two sets of examples are apart as a network sees them.
// Tests: tests/train/frechet_test.cpp
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt::train {

// The Frechet distance of two normal distributions that have the means and covariances of a [n, d] and b [m,
// d]:
//   |mean a - mean b|^2 + trace(A + B - 2 sqrt(A B))
// With a and b the features of real and of generated pictures it is the FID of Heusel et al. 2017 ("GANs
// trained by a two time-scale update rule"), which takes them from Inception; those of another network give
// other numbers, so distances compare only with the same network, and about as many examples. In f64. Throws
// ShapeError unless both have the same d and at least two rows, Error for numbers that are not finite.
double frechet_distance(const Tensor& a, const Tensor& b);

}  // namespace veldt::train
