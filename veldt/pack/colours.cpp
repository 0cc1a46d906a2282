// Jacobi's rotations find the components; the file's axes are rounded, and the numbers are along these.
#include "veldt/pack/colours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>

namespace veldt::pack {
namespace {

using Matrix = std::array<std::array<double, 3>, 3>;

constexpr double kUnit = 1 << codec::kAxisBits;
constexpr double kMiddle = codec::kAxesMiddle / 4096.0;

double determinant(const Matrix& m) {
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
         m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
         m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

// By Cramer's rule.
Matrix inverse(const Matrix& m) {
  const double d = determinant(m);
  Matrix result;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const std::size_t a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, e = (i + 2) % 3;
      result[i][j] = (m[a][c] * m[b][e] - m[a][e] * m[b][c]) / d;
    }
  return result;
}

Matrix covariance(std::span<const std::uint8_t> pixels, std::array<double, 3>& mean) {
  const auto count = static_cast<double>(pixels.size() / 3);
  std::array<std::int64_t, 3> sums{};
  std::array<std::array<std::int64_t, 3>, 3> products{};  // at most 2^28 times 2^16
  for (std::size_t i = 0; i + 2 < pixels.size(); i += 3)
    for (std::size_t a = 0; a < 3; ++a) {
      sums[a] += pixels[i + a];
      for (std::size_t b = 0; b < 3; ++b) products[a][b] += pixels[i + a] * pixels[i + b];
    }
  Matrix result;
  for (std::size_t a = 0; a < 3; ++a) mean[a] = static_cast<double>(sums[a]) / count;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      result[a][b] = static_cast<double>(products[a][b]) / count - mean[a] * mean[b];
  return result;
}

// The eigenvectors of a symmetric matrix, one a column; the matrix becomes diagonal.
Matrix eigenvectors(Matrix& m) {
  Matrix v = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  constexpr int kSweeps = 12;
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = a + 1; b < 3; ++b) {
        const double angle = 0.5 * std::atan2(2 * m[a][b], m[a][a] - m[b][b]);
        const double c = std::cos(angle), s = std::sin(angle);
        const auto turn = [&](double& x, double& y) {
          const double before = x;
          x = c * before + s * y;
          y = c * y - s * before;
        };
        for (std::size_t k = 0; k < 3; ++k) turn(m[k][a], m[k][b]);
        for (std::size_t k = 0; k < 3; ++k) turn(m[a][k], m[b][k]);
        for (std::size_t k = 0; k < 3; ++k) turn(v[k][a], v[k][b]);
      }
  return v;
}

}  // namespace

codec::ColourAxes principal_axes(std::span<const std::uint8_t> pixels) {
  codec::ColourAxes axes;
  std::array<double, 3> mean{};
  Matrix variances = covariance(pixels, mean);
  // Where the components shall lie.
  const double third = std::numbers::inv_sqrt3, half = std::numbers::sqrt2 / 2, sixth = half * third;
  const Matrix usual = {{{third, third, third}, {half, 0, -half}, {sixth, -2 * sixth, sixth}}};
  // Of a picture without colours nothing says where they would lie: there.
  constexpr std::array<double, 3> kHardlyAny = {3e-3, 2e-3, 1e-3};
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b) variances[a][b] += kHardlyAny[k] * usual[k][a] * usual[k][b];
  const Matrix vectors = eigenvectors(variances);
  std::array<std::size_t, 3> order = {0, 1, 2};
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t k) { return variances[k][k]; });
  Matrix turned{};
  for (std::size_t k = 0; k < 3; ++k) {
    double along = 0;
    for (std::size_t a = 0; a < 3; ++a) along += vectors[a][order[k]] * usual[k][a];
    const double sign = along < 0 ? -1 : 1;
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b) turned[a][b] += sign * vectors[a][order[k]] * usual[k][b];
  }
  for (std::size_t a = 0; a < 3; ++a) {
    axes.mean[a] = static_cast<std::uint8_t>(std::clamp(std::lround(mean[a] * 256 / 255), 0L, 255L));
    for (std::size_t b = 0; b < 3; ++b)
      axes.matrix[a][b] = static_cast<std::int8_t>(std::lround(turned[a][b] * kUnit));
  }
  return axes;
}

std::vector<float> along_axes(std::span<const std::uint8_t> pixels, const codec::ColourAxes& axes) {
  Matrix matrix;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b) matrix[a][b] = axes.matrix[a][b] / kUnit;
  const Matrix back = inverse(matrix);
  std::vector<float> numbers(pixels.size());
  for (std::size_t i = 0; i + 2 < pixels.size(); i += 3)
    for (std::size_t a = 0; a < 3; ++a) {
      double sum = kMiddle;
      for (std::size_t b = 0; b < 3; ++b) sum += back[a][b] * (pixels[i + b] / 255.0 - axes.mean[b] / 256.0);
      numbers[i + a] = static_cast<float>(sum);
    }
  return numbers;
}

}  // namespace veldt::pack
