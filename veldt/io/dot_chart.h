// Dots on lines with names, as SVG: how several things compare, with what each of them varies by.
//   io::dot_chart_svg({.title = "accuracy", .rows = {{"lr 0.1", {0.91, 0.93}}, {"lr 0.3", {0.95}}}});
// Tests: tests/io/chart_test.cpp
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace veldt::io {

struct DotRow {
  std::string name;            // at its left
  std::vector<double> values;  // a pale dot each; what is not finite is left out
  std::string note = {};       // at its right: "1 of 3 diverged"
};

// Rows from top to bottom; a dark dot marks the mean, a bar one deviation to both sides.
struct DotChart {
  std::string title = {};
  std::string x = {};  // label of the axis
  std::vector<DotRow> rows = {};
  // Where the axis begins and ends, if not with the values. A row whose mean lies beyond is an arrow with its
  // number.
  std::optional<double> from = {}, to = {};
  // What no value can be beyond, and so the axis is not: 0 and 1 for an accuracy.
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  int width = 960;
};

// A complete SVG document, as high as its rows. Throws ConfigError for a chart without a finite value, and
// for one whose axis ends before it begins.
std::string dot_chart_svg(const DotChart& chart);

}  // namespace veldt::io
