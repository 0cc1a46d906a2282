// Means and covariances of rows, and how far two normal distributions with them are apart.
#include "veldt/train/frechet.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/eigen.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::train {
namespace {

struct RowMoments {
  Tensor mean, covariance;  // [d], [d, d]
};

RowMoments row_moments(const Tensor& rows) {
  const Tensor x = to(rows, DType::f64), mean = veldt::mean(x, {0});
  const Tensor apart = x - mean;
  return {mean, matmul(transpose(apart, 0, 1), apart) / static_cast<double>(x.size(0) - 1)};
}

// The square roots of what should not be below 0, and is by a rounding error.
Tensor roots(const Tensor& values) { return sqrt(maximum(values, zeros_like(values))); }

}  // namespace

double frechet_distance(const Tensor& a, const Tensor& b) {
  if (a.rank() != 2 || b.rank() != 2 || a.size(1) != b.size(1) || a.size(0) < 2 || b.size(0) < 2)
    throw ShapeError(str("the Frechet distance of ", a.shape(), " and ", b.shape(), " is not defined"),
                     "it wants at least two rows each, of the same features", "give [n, d] and [m, d]");
  const NoGrad measuring;
  const RowMoments of_a = row_moments(to(a, Device{})), of_b = row_moments(to(b, Device{}));
  // sqrt(A B) has the trace of sqrt(sqrt(A) B sqrt(A)), which is symmetric.
  const EighResult parts = eigh(of_a.covariance);
  const Tensor root = matmul(parts.vectors * roots(parts.values), transpose(parts.vectors, 0, 1));
  const Tensor both = matmul(matmul(root, of_b.covariance), root);
  const double together = sum(roots(eigh((both + transpose(both, 0, 1)) / 2).values)).item();
  const double own = sum(diagonal(of_a.covariance + of_b.covariance)).item();
  return std::max(0.0, sum(square(of_a.mean - of_b.mean)).item() + own - 2 * together);
}

}  // namespace veldt::train
