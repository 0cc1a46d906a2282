// What all charts have: text in SVG, round numbers on an axis, colours. Only for chart.cpp and dot_chart.cpp.
// Tests: tests/io/chart_test.cpp
#pragma once

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace veldt::io {

// Colours by Okabe & Ito 2008, which colour-blind people can tell apart too.
inline constexpr std::array<const char*, 7> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#444444"};

// Without control characters, and with those of XML escaped.
std::string escaped_for_svg(const std::string& text);

// The least and the greatest number of an axis.
struct AxisRange {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void take(double v);
  // Widens an empty range, to avoid a division by 0.
  void open();
};

// The round numbers 1, 2 and 5 times a power of ten, about six of them in the range.
std::vector<double> axis_ticks(const AxisRange& range);

// The number below a tick at x, moved to the left if it would not fit into the picture.
std::string tick_svg(double x, double y, double number, int width);

// The beginning of a document, up to its white ground.
std::string svg_head(int width, int height);

}  // namespace veldt::io
