// Draws lines into SVG: axes, a legend.
#include "veldt/io/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/svg.h"

namespace veldt::io {
namespace {

constexpr double kLeft = 72, kRight = 16, kTop = 34, kBottom = 44;

// The same on a logarithmic axis: 1 .. 9 times a power of ten, as many as fit legibly.
std::vector<double> log_ticks(const AxisRange& range) {
  const double decades = range.high - range.low;
  const int every = decades > 3 ? 9 : decades > 0.7 ? 3 : 1;  // 1; 1, 4, 7; all
  std::vector<double> all;
  for (double power = std::floor(range.low); power <= range.high; ++power)
    for (int digit = 1; digit < 10; digit += every)
      if (const double t = power + std::log10(digit); t >= range.low && t <= range.high) all.push_back(t);
  return all.size() > 1 ? all : axis_ticks(range);
}

class Plane {
 public:
  explicit Plane(const Chart& chart) : chart_(chart) {
    for (const ChartLine& line : chart.lines)
      for (std::size_t i = 0; i < line.x.size(); ++i)
        if (is_shown(line, i)) x_.take(line.x[i]), y_.take(scaled(line.y[i]));
    if (!(x_.low <= x_.high))
      throw ConfigError("there is nothing to draw", "no line has a finite point", "give one with numbers");
    x_.open(), y_.open();
  }

  bool is_shown(const ChartLine& line, std::size_t i) const {
    return std::isfinite(line.x[i]) && std::isfinite(scaled(line.y[i]));
  }
  double scaled(double y) const { return chart_.log_y ? std::log10(y) : y; }
  double across(double x) const {
    return kLeft + (x - x_.low) / (x_.high - x_.low) * (chart_.width - kLeft - kRight);
  }
  double down(double y) const {
    return chart_.height - kBottom - (y - y_.low) / (y_.high - y_.low) * (chart_.height - kTop - kBottom);
  }
  const AxisRange& x() const { return x_; }
  const AxisRange& y() const { return y_; }

 private:
  const Chart& chart_;
  AxisRange x_, y_;
};

std::string axes(const Chart& chart, const Plane& plane) {
  const double right = chart.width - kRight, bottom = chart.height - kBottom;
  std::string svg;
  for (const double t : chart.log_y ? log_ticks(plane.y()) : axis_ticks(plane.y())) {
    const double y = plane.down(t);
    svg += fmt::format("<path d='M{} {:.1f}H{}' stroke='#ddd'/>\n", kLeft, y, right);
    svg += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{:.4g}</text>\n", kLeft - 6, y + 4,
                       chart.log_y ? std::pow(10, t) : t);
  }
  for (const double t : axis_ticks(plane.x())) svg += tick_svg(plane.across(t), bottom + 16, t, chart.width);
  svg += fmt::format("<path d='M{} {}V{}H{}' stroke='#444' fill='none'/>\n", kLeft, kTop, bottom, right);
  svg +=
      fmt::format("<text x='{}' y='18' font-weight='bold'>{}</text>\n", kLeft, escaped_for_svg(chart.title));
  svg += fmt::format("<text x='{}' y='{}' text-anchor='middle'>{}</text>\n", (kLeft + right) / 2,
                     chart.height - 8, escaped_for_svg(chart.x));
  svg += fmt::format("<text transform='translate(14 {}) rotate(-90)' text-anchor='middle'>{}</text>\n",
                     (kTop + bottom) / 2, escaped_for_svg(chart.y));
  return svg;
}

std::string drawn(const ChartLine& line, const Plane& plane, const char* colour) {
  std::string path;
  bool pen_is_up = true;
  for (std::size_t i = 0; i < line.x.size(); ++i) {
    if (!plane.is_shown(line, i)) {
      pen_is_up = true;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", std::exchange(pen_is_up, false) ? 'M' : 'L',
                        plane.across(line.x[i]), plane.down(plane.scaled(line.y[i])));
  }
  return fmt::format("<path d='{}' stroke='{}' stroke-width='1.5' fill='none' stroke-linejoin='round'/>\n",
                     path, colour);
}

}  // namespace

std::string chart_svg(const Chart& chart) {
  for (const ChartLine& line : chart.lines)
    if (line.x.size() != line.y.size())
      throw ConfigError(str("cannot draw ", line.name),
                        str("it has ", line.x.size(), " places and ", line.y.size(), " values"),
                        "give the same number of both");
  const Plane plane(chart);
  std::string svg = svg_head(chart.width, chart.height);
  svg += axes(chart, plane);
  // The legend is above the plot, right-aligned.
  double right = chart.width - kRight;
  for (std::size_t i = chart.lines.size(); i-- > 0;) {
    const char* const colour = kColours[i % kColours.size()];
    svg += fmt::format("<text x='{:.1f}' y='18' text-anchor='end' fill='{}'>{}</text>\n", right, colour,
                       escaped_for_svg(chart.lines[i].name));
    right -= 7.0 * static_cast<double>(chart.lines[i].name.size()) + 18;
  }
  for (std::size_t i = 0; i < chart.lines.size(); ++i)
    svg += drawn(chart.lines[i], plane, kColours[i % kColours.size()]);
  return svg + "</svg>\n";
}

void write_chart(const std::string& path, const Chart& chart) { write_file(path, chart_svg(chart)); }

}  // namespace veldt::io
