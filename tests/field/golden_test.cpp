// The original recipe, against a reference in float64 that shares nothing with Veldt: tests/golden/simba.py.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/sanitizers.h"
#include "veldt/field/fit.h"
#include "veldt/io/image.h"

namespace veldt::field {
namespace {

void expect_first_losses(std::size_t count) {
  std::ifstream file(VELDT_SOURCE "/tests/golden/simba.json");
  ASSERT_TRUE(file) << "tests/golden/simba.json is missing; tests/golden/simba.py makes it";
  const auto golden = nlohmann::json::parse(file).at("losses").get<std::vector<double>>();
  ASSERT_GE(golden.size(), count);
  const Tensor cub = io::read_image(VELDT_SOURCE "/assets/cub.png");
  Fitter fitter(cub, choices_for(cub, {.simba = true}));
  EXPECT_EQ(fitter.field().parameter_count(), 98752);
  std::vector<double> losses;
  train::Events events;
  events.on_step = [&losses](std::int64_t, double loss) { losses.push_back(loss); };
  events.should_stop = [&losses, count] { return losses.size() == count; };
  EXPECT_EQ(fitter.run({}, events).stop, train::Stop::asked);
  ASSERT_EQ(losses.size(), count);
  for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(losses[i] / golden[i], 1, 1e-4) << "loss of step " << i;
}

TEST(GoldenSimba, First5LossesEqualTheFloat64Reference) { expect_first_losses(5); }
TEST(SlowGoldenSimba, First200LossesEqualTheFloat64Reference) {
  if (test::kAddressSanitizer)
    GTEST_SKIP() << "ten minutes under AddressSanitizer, and the same code as the test of 5";
  expect_first_losses(200);
}

}  // namespace
}  // namespace veldt::field
