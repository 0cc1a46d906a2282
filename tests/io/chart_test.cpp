// Charts: every point has its place, and what is no number leaves a gap.
#include "veldt/io/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "veldt/core/error.h"

namespace veldt::io {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Chart, DrawsEachLineWithinThePlane) {
  const std::string svg = chart_svg(
      {.title = "a < b", .x = "step", .y = "loss", .lines = {{"train", {0, 10}, {0, 5}}}, .width = 480});
  EXPECT_THAT(svg, HasSubstr("M72.0 376.0L464.0 34.0"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr(">train<"));
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
}

TEST(Chart, LeavesAGapForWhatIsNoNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string svg = chart_svg({.lines = {{"", {0, 1, 2, 3}, {1, nan, 1, 2}}}});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, HasSubstr("M72.0 376.0M"));
}

TEST(Chart, TakesLinesThatAreFlatOrOfOnePoint) {
  EXPECT_THAT(chart_svg({.lines = {{"", {3}, {7}}}}), Not(HasSubstr("nan")));
  EXPECT_THAT(chart_svg({.lines = {{"", {1, 2}, {0, 0}}}}), Not(HasSubstr("inf")));
  for (const double near : {1e-16, 1e-12, 1e-8})
    EXPECT_LT(chart_svg({.lines = {{"", {1, 2}, {1, 1 + near}}}}).size(), 4000U) << near;
}

TEST(Chart, PowersOfTenLeaveOutWhatIsNotAboveZero) {
  const std::string svg = chart_svg({.lines = {{"", {0, 1, 2}, {0, 1, 100}}}, .log_y = true});
  EXPECT_THAT(svg, HasSubstr(">100<"));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Chart, RefusesWhatCannotBeDrawn) {
  EXPECT_THROW(chart_svg({}), ConfigError);
  EXPECT_THROW(chart_svg({.lines = {{"", {1, 2}, {1}}}}), ConfigError);
}

}  // namespace
}  // namespace veldt::io
