// Comparisons with tolerances, and of whole tensors.
#include "veldt/ops/close.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Close, TakesAShareOfTheSecondAndAnAmount) {
  const Tensor a = Tensor::of({4}, {100, 101, 0, 0.5}), b = Tensor::of({4}, {101, 100, 0.4, 0});
  EXPECT_THAT(isclose(a, b, 0.00995, 0.41).values<bool>(), ElementsAre(true, true, true, false));
  EXPECT_TRUE(allclose(ones({2, 3}), full({3}, 1 + 1e-6)));
  EXPECT_FALSE(allclose(ones({2, 3}), full({3}, 1 + 1e-4)));
  EXPECT_TRUE(allclose(zeros({0}), zeros({0})));
}

TEST(Close, TakesInfinitiesAndNaN) {
  const Tensor a = Tensor::of({5}, {INFINITY, INFINITY, INFINITY, NAN, NAN});
  const Tensor b = Tensor::of({5}, {INFINITY, -INFINITY, 1, NAN, 1});
  EXPECT_THAT(isclose(a, b, 1, 1).values<bool>(), ElementsAre(true, false, false, false, false));
  EXPECT_THAT(isclose(a, b, 1, 1, true).values<bool>(), ElementsAre(true, false, false, true, false));
  EXPECT_FALSE(allclose(Tensor::of({}, {1}), Tensor::of({}, {INFINITY})));
}

TEST(Close, TellsWholeNumbersApart) {
  const Tensor a = full({1}, (std::int64_t{1} << 60) + 1, DType::i64);
  EXPECT_TRUE(allclose(a, a, 0, 0));
  EXPECT_TRUE(allclose(arange(3), arange(3, DType::u8)));
}

TEST(Close, RefusesTolerancesBelowZero) {
  EXPECT_THAT(error_of<ConfigError>([] { allclose(ones({1}), ones({1}), -1); }), HasSubstr("-1"));
  EXPECT_THAT(error_of<ConfigError>([] { isclose(ones({1}), ones({1}), 0, NAN); }), HasSubstr("nan"));
  EXPECT_THAT(error_of<ShapeError>([] { allclose(ones({2}), ones({3})); }), HasSubstr("[2]"));
}

TEST(ArrayEqual, ComparesShapesAndNumbers) {
  EXPECT_TRUE(array_equal(arange(3), arange(3, DType::f32)));
  EXPECT_FALSE(array_equal(ones({2}), ones({1, 2})));
  EXPECT_FALSE(array_equal(ones({2}), Tensor::of({2}, {1, 2})));
  EXPECT_FALSE(array_equal(full({1}, NAN), full({1}, NAN)));
  EXPECT_TRUE(array_equal(zeros({0, 2}), zeros({0, 2})));
}

}  // namespace
}  // namespace veldt
