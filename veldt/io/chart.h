// Line charts as SVG: curves of a training run, a forecast and the true values.
//   io::write_chart("curves.svg", {.title = "loss", .x = "step", .lines = {{"train", steps, losses}}});
// Tests: tests/io/chart_test.cpp
#pragma once

#include <string>
#include <vector>

namespace veldt::io {

struct ChartLine {
  std::string name;          // in the legend
  std::vector<double> x, y;  // the same number of both; a y that is not finite leaves a gap
};

struct Chart {
  std::string title = {};
  std::string x = {}, y = {};  // labels of the axes
  std::vector<ChartLine> lines = {};
  bool log_y = false;  // powers of ten; leaves out what is not above 0
  int width = 960, height = 420;
};

// A complete SVG document. Throws ConfigError for a line with different numbers of x and y, and for a chart
// without a point.
std::string chart_svg(const Chart& chart);
// Writes it all or not at all. Also throws IoError unwritable.
void write_chart(const std::string& path, const Chart& chart);

}  // namespace veldt::io
