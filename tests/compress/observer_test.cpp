// Ranges of numbers that were seen in parts.
#include "veldt/compress/observer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"

namespace veldt::compress {
namespace {

TEST(Observer, SeesTheEndsAndZero) {
  Observer o;
  o.see(Tensor::of({3}, {1, 2, NAN}));
  o.see(Tensor::of({2}, {5, INFINITY}));
  const NumberRange all = o.range(Calibration::min_max);
  EXPECT_EQ(all.low, 0);
  EXPECT_EQ(all.high, 5);
  EXPECT_NE(test::error_of<Error>([] { Observer().range(Calibration::mse); }), "");
}

// Of normal numbers and one far away all but min-max cut that off. Its square weighs much: among 160,000
// numbers cutting it at h costs (60 - h)^2, and rounding 160,000 (h / 255)^2 / 12, which is least near 50.
TEST(Observer, CutsOffWhatIsFarAway) {
  Rng rng(1);
  Observer o;
  for (int i = 0; i < 8; ++i) o.see(randn({20000}, rng));
  o.see(Tensor::of({1}, {60}));
  EXPECT_EQ(o.range(Calibration::min_max).high, 60);
  for (const Calibration how : {Calibration::percentile, Calibration::mse, Calibration::entropy}) {
    const NumberRange r = o.range(how);
    EXPECT_LT(r.high, how == Calibration::mse ? 55 : 25) << static_cast<int>(how);
    EXPECT_GT(r.high, 2.5) << static_cast<int>(how);
    EXPECT_LE(r.low, 0);
  }
}

TEST(Observer, HasNamesForItsCalibrations) {
  for (const std::string_view name : calibration_names()) EXPECT_TRUE(calibration_named(name)) << name;
  EXPECT_FALSE(calibration_named("best"));
}

}  // namespace
}  // namespace veldt::compress
