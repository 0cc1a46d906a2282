// Charts: every point has its place, and what is no number leaves a gap.
#include "veldt/io/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "veldt/core/error.h"
#include "veldt/io/dot_chart.h"

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

TEST(DotChart, HasADotForEachValueAndTheMean) {
  const std::string svg = dot_chart_svg(
      {.title = "a & b", .x = "accuracy", .rows = {{"one", {1, 3}, "note"}, {"two", {2}}, {"none", {}}}});
  const auto count_of = [&](const std::string& word) {
    int count = 0;
    for (std::size_t at = svg.find(word); at != std::string::npos; at = svg.find(word, at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(count_of("r='3'"), 3);
  EXPECT_EQ(count_of("r='4'"), 2);
  EXPECT_EQ(count_of("stroke-width='1.5'"), 1);  // one has a deviation
  for (const char* text : {"a &amp; b", ">accuracy<", ">one<", ">none<", ">note<"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(DotChart, WhatIsBeyondTheAxisIsAnArrowWithItsNumber) {
  const DotChart chart{.rows = {{"good", {0.98, 0.99}}, {"bad", {0.1, 0.12}}, {"half", {0.99, 0.93}}},
                       .from = 0.95};
  const std::string svg = dot_chart_svg(chart);
  EXPECT_THAT(svg, HasSubstr(">0.11<"));
  EXPECT_THAT(svg, HasSubstr("text-anchor='start'"));
  EXPECT_THAT(svg, Not(HasSubstr(">0.1<")));  // no tick there
  EXPECT_THAT(dot_chart_svg({.rows = {{"", {1}}, {"", {7}}}, .to = 2}), HasSubstr(">7<"));
  EXPECT_THROW(dot_chart_svg({.rows = {{"", {1}}}, .from = 2}), ConfigError);
}

// The place of a tick's number, and whether all of it is in a picture of this width (a digit has 7).
void expect_whole(const std::string& svg, const std::string& number, double width) {
  const std::size_t end = svg.find(">" + number + "<"), begin = svg.rfind("x='", end);
  ASSERT_NE(end, std::string::npos) << number;
  const double x = std::stod(svg.substr(begin + 3));
  EXPECT_LE(x + 3.5 * static_cast<double>(number.size()), width) << svg.substr(begin, end - begin);
}

TEST(Chart, TheLastNumberOfAnAxisIsNotCutOff) {
  expect_whole(chart_svg({.lines = {{"", {0, 600000}, {0, 1}}}, .width = 480}), "600000", 480);
  expect_whole(dot_chart_svg({.rows = {{"", {100000, 600000}}}, .to = 600000, .most = 600000}), "600000",
               960);
}

TEST(DotChart, AxesHaveNoMinusZeroAndEndWhereValuesCan) {
  EXPECT_THAT(dot_chart_svg({.rows = {{"", {-0.01, 5}}}}), Not(HasSubstr(">-0<")));
  EXPECT_THAT(chart_svg({.lines = {{"", {-0.1, 5}, {-0.1, 5}}}}), Not(HasSubstr(">-0<")));
  const DotRow row{"", {0.7, 1, 1}};  // the mean and a deviation are more than 1
  EXPECT_THAT(dot_chart_svg({.rows = {row}}), HasSubstr(">1.05<"));
  const std::string svg = dot_chart_svg({.rows = {row}, .least = 0, .most = 1});
  EXPECT_THAT(svg, HasSubstr(">1<"));
  EXPECT_THAT(svg, Not(HasSubstr(">1.05<")));
}

TEST(DotChart, TakesAnyNumbersAndNames) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THROW(dot_chart_svg({}), ConfigError);
  EXPECT_THROW(dot_chart_svg({.rows = {{"x", {inf, -inf}}}}), ConfigError);
  const std::string svg =
      dot_chart_svg({.rows = {{std::string(500, 'x'), {inf, 5}}, {"\xc3\xa4\x01<", {5}}}});
  for (const char* bad : {"inf", "nan", "\x01", "<<"}) EXPECT_THAT(svg, Not(HasSubstr(bad)));
  EXPECT_THAT(svg, HasSubstr("xx..<"));
}

}  // namespace
}  // namespace veldt::io
