// Line charts as SVG: curves of a training run, a forecast beside the truth.
//   io::write_chart("curves.svg", {.title = "loss", .x = "step", .lines = {{"train", steps, losses}}});
// Tests: tests/io/chart_test.cpp
#pragma once

#include <string>
#include <vector>

namespace veldt::io {

struct ChartLine {
  std::string name;          // in the legend
  std::vector<double> x, y;  // as many of both; a y that is not finite leaves a gap
};

struct Chart {
  std::string title = {};
  std::string x = {}, y = {};  // what the axes show
  std::vector<ChartLine> lines = {};
  bool log_y = false;  // powers of ten; leaves out what is not above 0
  int width = 960, height = 420;
};

// A whole SVG document, which browsers show and other programs edit. Throws ConfigError for a line whose x
// and y are not as many, and for a chart without a point.
std::string chart_svg(const Chart& chart);
// Writes it whole or not at all. Throws IoError unwritable besides.
void write_chart(const std::string& path, const Chart& chart);

}  // namespace veldt::io
