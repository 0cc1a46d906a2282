// NaN and infinities are found wherever they stand, and named by their place.
#include "veldt/data/finite.h"

#include <gtest/gtest.h>

#include <limits>

#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(FirstNotFinite, FindsItAnywhereInAnyDType) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16})
    for (const std::int64_t n : {1, 64, 65, 200})
      for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1})
        for (const double value : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
          const Tensor t = full({n}, 6e4, dtype);  // nearly the largest of f16
          EXPECT_EQ(first_not_finite(t), "");
          narrow(t, 0, at, 1).assign(full({1}, value, dtype));
          EXPECT_EQ(first_not_finite(t).substr(first_not_finite(t).find(" at")),
                    str(" at [", at, "] of ", dtype, " [", n, "]"));
        }
}

TEST(FirstNotFinite, NamesTheElement) {
  const Tensor t = zeros({2, 3, 4});
  select(select(t, 0, 1), 0, 2).assign(full({4}, -kInfinity));
  EXPECT_EQ(first_not_finite(t), "-inf at [1, 2, 0] of f32 [2, 3, 4]");
  EXPECT_EQ(first_not_finite(transpose(t, 0, 2)), "-inf at [0, 2, 1] of f32 [4, 3, 2]");
  EXPECT_EQ(first_not_finite(full({}, kInfinity)), "inf at [] of f32 []");
  EXPECT_EQ(first_not_finite(zeros({0, 3})), "");
  EXPECT_EQ(first_not_finite(full({3}, 7, DType::i64)), "");
}

}  // namespace
}  // namespace veldt::data
