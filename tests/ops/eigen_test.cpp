// Eigenvalues and vectors: a matrix is what they make of it, known spectra, and what is refused.
#include "veldt/ops/eigen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt {
namespace {

using testing::HasSubstr;

double largest_apart(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

TEST(Eigh, ItsPartsMakeTheMatrixAgain) {
  Rng rng(5);
  for (const std::int64_t n : {1, 2, 3, 12, 40, 84}) {
    const Tensor half = randn({n, n}, rng, 0, 1, DType::f64), x = half + transpose(half, 0, 1);
    const EighResult of_x = eigh(x);
    const Tensor back = matmul(of_x.vectors * of_x.values, transpose(of_x.vectors, 0, 1));
    EXPECT_LE(largest_apart(back, x), 1e-12 * static_cast<double>(n)) << n;
    EXPECT_LE(largest_apart(matmul(transpose(of_x.vectors, 0, 1), of_x.vectors), diag(ones({n}, DType::f64))),
              1e-13 * static_cast<double>(n))
        << n;
    const std::vector<double> values = of_x.values.values<double>();
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end())) << n;
  }
}

// The second difference has eigenvalues 2 - 2 cos(pi k / (n + 1)).
TEST(Eigh, FindsAKnownSpectrum) {
  constexpr std::int64_t kSize = 20;
  const Tensor beside = diag(ones({kSize - 1}, DType::f64), 1);
  const Tensor x = 2 * diag(ones({kSize}, DType::f64)) - beside - transpose(beside, 0, 1);
  const std::vector<double> values = eigh(x).values.values<double>();
  for (std::int64_t k = 0; k < kSize; ++k)
    EXPECT_NEAR(values[static_cast<std::size_t>(k)],
                2 - 2 * std::cos(std::numbers::pi * static_cast<double>(k + 1) / (kSize + 1)), 1e-13);
}

TEST(Eigh, TakesWhatHasEqualEigenvaluesAndZeros) {
  EXPECT_EQ(max(abs(eigh(zeros({5, 5})).values)).item(), 0);
  const EighResult same = eigh(3 * diag(ones({4})));
  EXPECT_EQ(largest_apart(same.values, full({4}, 3, DType::f64)), 0);
  const Tensor one = arange(6, DType::f64), rank_one = unsqueeze(one, 0) * unsqueeze(one, 1);
  EXPECT_NEAR(select(eigh(rank_one).values, 0, 5).item(), 55, 1e-12);
  EXPECT_EQ(eigh(zeros({0, 0})).values.numel(), 0);
  for (const double scale : {1e160, 1e-170, 9e307}) {
    const std::vector<double> values =
        eigh(scale * Tensor::of({2, 2}, {1, 0.5, 0.5, 1}, DType::f64)).values.values<double>();
    EXPECT_NEAR(values[0] / scale, 0.5, 1e-14) << scale;
    if (scale < 1e200) {
      EXPECT_NEAR(values[1] / scale, 1.5, 1e-14) << scale;
    }
  }
  // Signs are not left to chance: the largest element of a vector is positive.
  const Tensor vectors = eigh(full({2, 2}, 1.0)).vectors;
  EXPECT_GT(select(select(vectors, 0, 0), 0, 1).item(), 0);
}

TEST(Eigh, RefusesWhatIsNotSymmetric) {
  const auto message = [](const Tensor& x) { return error_of<Error>([&] { static_cast<void>(eigh(x)); }); };
  EXPECT_THAT(message(zeros({2, 3})), HasSubstr("[2, 3]"));
  EXPECT_THAT(message(zeros({2, 2}, DType::i64)), HasSubstr("i64"));
  EXPECT_THAT(message(Tensor::of({2, 2}, {1, 2, 3, 1})), HasSubstr("(1, 0) is 3, and (0, 1) is 2"));
  EXPECT_THAT(message(full({2, 2}, std::numeric_limits<double>::infinity())), HasSubstr("infinity"));
}

}  // namespace
}  // namespace veldt
