// Cyclic Jacobi: each pair of axes is turned so that one element becomes 0, over and over, until all are.
#include "veldt/ops/eigen.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

constexpr int kMostSweeps = 60;  // six to ten are usual

// Symmetric a, n x n, becomes diagonal: rows of `v`, which begin as the identity, become its eigenvectors.
class JacobiRotations {
 public:
  JacobiRotations(std::vector<double>& a, std::vector<double>& v, std::size_t n) : a_(a), v_(v), n_(n) {}

  void run() {
    double total = 0;
    for (const double x : a_) total += x * x;
    for (int sweep = 0; sweep < kMostSweeps && outside() > 1e-32 * total; ++sweep)
      for (std::size_t p = 0; p + 1 < n_; ++p)
        for (std::size_t q = p + 1; q < n_; ++q) rotate(p, q);
  }

 private:
  // The sum of squares beside the diagonal, each counted once.
  double outside() const {
    double sum = 0;
    for (std::size_t p = 0; p < n_; ++p)
      for (std::size_t q = p + 1; q < n_; ++q) sum += a_[p * n_ + q] * a_[p * n_ + q];
    return sum;
  }
  // Turns axes p and q so that a[p][q] becomes 0.
  void rotate(std::size_t p, std::size_t q) {
    const double apq = a_[p * n_ + q];
    if (apq == 0) return;
    const double theta = (a_[q * n_ + q] - a_[p * n_ + p]) / (2 * apq);
    const double t = std::copysign(1 / (std::abs(theta) + std::hypot(theta, 1)), theta);
    const double c = 1 / std::hypot(t, 1), s = t * c;
    for (std::size_t k = 0; k < n_; ++k) turn(a_[k * n_ + p], a_[k * n_ + q], c, s);
    for (std::size_t k = 0; k < n_; ++k) turn(a_[p * n_ + k], a_[q * n_ + k], c, s);
    for (std::size_t k = 0; k < n_; ++k) turn(v_[p * n_ + k], v_[q * n_ + k], c, s);
    a_[p * n_ + q] = a_[q * n_ + p] = 0;
  }
  static void turn(double& x, double& y, double c, double s) {
    const double before = x;
    x = c * before - s * y;
    y = s * before + c * y;
  }

  std::vector<double>&a_, &v_;
  std::size_t n_;
};

// x's numbers, made exactly symmetric.
std::vector<double> symmetric_values(const Tensor& x) {
  std::vector<double> a = to(to(x.detach(), Device{}), DType::f64).values<double>();
  const auto n = static_cast<std::size_t>(x.size(0));
  double largest = 0;
  for (const double value : a) {
    if (!std::isfinite(value))
      throw Error("eigh cannot decompose a matrix with NaN or infinity in it", "it has no eigenvalues",
                  "look for what made the number: DetectAnomaly finds the first");
    largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < i; ++k) {
      double &low = a[i * n + k], &high = a[k * n + i];
      if (std::abs(low - high) > 1e-6 * largest)
        throw Error(str("eigh cannot decompose a matrix that is not symmetric"),
                    str("element (", i, ", ", k, ") is ", low, ", and (", k, ", ", i, ") is ", high),
                    "give a covariance, or (x + transpose(x)) / 2");
      low = high = low / 2 + high / 2;
    }
  return a;
}

}  // namespace

EighResult eigh(const Tensor& x) {
  if (x.rank() != 2 || x.size(0) != x.size(1) || !is_float(x.dtype()))
    throw ShapeError(str("eigh cannot decompose ", x.shape(), " of ", x.dtype()),
                     "it wants a square matrix of floating point numbers", "give [n, n]");
  const std::int64_t size = x.size(0);
  const auto n = static_cast<std::size_t>(size);
  std::vector<double> a = symmetric_values(x), v(n * n, 0);
  // Near 1 no square is too large or too small; powers of two change no digit.
  double largest_of_all = 0;
  for (const double value : a) largest_of_all = std::max(largest_of_all, std::abs(value));
  const int exponent = largest_of_all > 0 ? std::ilogb(largest_of_all) : 0;
  for (double& value : a) value = std::scalbn(value, -exponent);
  for (std::size_t i = 0; i < n; ++i) v[i * n + i] = 1;
  JacobiRotations(a, v, n).run();

  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t k) { return a[i * n + i] < a[k * n + k]; });
  std::vector<double> values, columns(n * n);
  for (std::size_t at = 0; at < n; ++at) {
    const double* vector = v.data() + order[at] * n;
    const double* largest = std::max_element(
        vector, vector + n, [](double one, double other) { return std::abs(one) < std::abs(other); });
    values.push_back(std::scalbn(a[order[at] * n + order[at]], exponent));
    for (std::size_t k = 0; k < n; ++k) columns[k * n + at] = *largest < 0 ? -vector[k] : vector[k];
  }
  return {Tensor::from<double>({size}, values), Tensor::from<double>({size, size}, columns)};
}

}  // namespace veldt
