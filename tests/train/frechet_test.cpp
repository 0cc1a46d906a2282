// The Frechet distance against scipy's; the numbers are in tests/golden/frechet.json, which frechet.py wrote.
#include "veldt/train/frechet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::train {
namespace {

using testing::HasSubstr;

// The formula of frechet.py.
Tensor rows_of_waves(std::int64_t count, std::int64_t features, double phase) {
  std::vector<double> values;
  for (std::int64_t row = 0; row < count; ++row)
    for (std::int64_t column = 0; column < features; ++column) {
      const auto i = static_cast<double>(row), k = static_cast<double>(column);
      values.push_back(std::sin(0.37 * i * (k + 1) + phase) + phase * std::cos(0.11 * i * i + k) +
                       0.3 * phase * k);
    }
  return Tensor::from<double>({count, features}, values);
}

TEST(FrechetDistance, IsScipys) {
  const auto cases = nlohmann::json::parse(std::ifstream(VELDT_SOURCE "/tests/golden/frechet.json"));
  ASSERT_EQ(cases.size(), 4u);
  for (const auto& one : cases) {
    const std::int64_t d = one.at("features").get<std::int64_t>();
    const Tensor a = rows_of_waves(one.at("rows")[0].get<std::int64_t>(), d, 0.2),
                 b = rows_of_waves(one.at("rows")[1].get<std::int64_t>(), d, one.at("phase").get<double>());
    const double wanted = one.at("distance").get<double>();
    EXPECT_NEAR(frechet_distance(a, b), wanted, 1e-6 * (1 + wanted)) << one;
    EXPECT_NEAR(frechet_distance(b, a), wanted, 1e-6 * (1 + wanted)) << one;
    EXPECT_NEAR(frechet_distance(to(a, DType::f32), to(b, DType::f32)), wanted, 1e-4 * (1 + wanted)) << one;
  }
}

TEST(FrechetDistance, OfASetAndItselfIsZeroAndOfAShiftItsSquare) {
  Rng rng(3);
  const Tensor a = randn({300, 8}, rng, 0, 1, DType::f64);
  EXPECT_NEAR(frechet_distance(a, a), 0, 1e-9);
  EXPECT_NEAR(frechet_distance(a, a + 0.5), 8 * 0.25, 1e-9);
  // Fewer rows than features: a covariance without full rank.
  const Tensor few = randn({4, 8}, rng, 0, 1, DType::f64);
  EXPECT_NEAR(frechet_distance(few, few), 0, 1e-6);
}

TEST(FrechetDistance, RefusesWhatHasNone) {
  const auto message = [](const Tensor& a, const Tensor& b) {
    return error_of<Error>([&] { static_cast<void>(frechet_distance(a, b)); });
  };
  EXPECT_THAT(message(zeros({5, 3}), zeros({5, 4})), HasSubstr("[5, 3] and [5, 4]"));
  EXPECT_THAT(message(zeros({1, 3}), zeros({5, 3})), HasSubstr("at least two rows"));
  EXPECT_THAT(message(zeros({5}), zeros({5})), HasSubstr("[5]"));
  EXPECT_THAT(message(full({5, 3}, std::numeric_limits<double>::quiet_NaN()), zeros({5, 3})),
              HasSubstr("NaN"));
}

}  // namespace
}  // namespace veldt::train
