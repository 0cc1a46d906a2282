// Draws lines into SVG: ranges, ticks on round numbers, axes, a legend.
#include "veldt/io/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "veldt/core/error.h"
#include "veldt/io/file.h"

namespace veldt::io {
namespace {

// Colours by Okabe & Ito 2008, which colour-blind people can tell apart too.
constexpr std::array<const char*, 7> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                              "#e69f00", "#56b4e9", "#444444"};
constexpr double kLeft = 72, kRight = 16, kTop = 34, kBottom = 44;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void take(double v) { low = std::min(low, v), high = std::max(high, v); }
  // Widens an empty range, to avoid a division by 0.
  void open() {
    // A range so narrow that its ticks could not differ counts as empty.
    if (high - low > 1e-9 * std::max(std::abs(low), std::abs(high))) return;
    const double room = low == 0 ? 1 : std::abs(low) / 2;
    low -= room, high += room;
  }
};

// The round numbers 1, 2 and 5 times a power of ten, about six of them in the range.
std::vector<double> ticks(const Range& range) {
  const double rough = (range.high - range.low) / 6;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double share = rough / power;
  const double step = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  std::vector<double> all;
  for (double i = std::ceil(range.low / step); i * step <= range.high + step * 1e-9; ++i)
    all.push_back(i * step);
  return all;
}

// The same on a logarithmic axis: 1 .. 9 times a power of ten, as many as fit legibly.
std::vector<double> log_ticks(const Range& range) {
  const double decades = range.high - range.low;
  const int every = decades > 3 ? 9 : decades > 0.7 ? 3 : 1;  // 1; 1, 4, 7; all
  std::vector<double> all;
  for (double power = std::floor(range.low); power <= range.high; ++power)
    for (int digit = 1; digit < 10; digit += every)
      if (const double t = power + std::log10(digit); t >= range.low && t <= range.high) all.push_back(t);
  return all.size() > 1 ? all : ticks(range);
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
  const Range& x() const { return x_; }
  const Range& y() const { return y_; }

 private:
  const Chart& chart_;
  Range x_, y_;
};

std::string axes(const Chart& chart, const Plane& plane) {
  const double right = chart.width - kRight, bottom = chart.height - kBottom;
  std::string svg;
  for (const double t : chart.log_y ? log_ticks(plane.y()) : ticks(plane.y())) {
    const double y = plane.down(t);
    svg += fmt::format("<path d='M{} {:.1f}H{}' stroke='#ddd'/>\n", kLeft, y, right);
    svg += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{:.4g}</text>\n", kLeft - 6, y + 4,
                       chart.log_y ? std::pow(10, t) : t);
  }
  for (const double t : ticks(plane.x()))
    svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{:.6g}</text>\n", plane.across(t),
                       bottom + 16, t);
  svg += fmt::format("<path d='M{} {}V{}H{}' stroke='#444' fill='none'/>\n", kLeft, kTop, bottom, right);
  svg += fmt::format("<text x='{}' y='18' font-weight='bold'>{}</text>\n", kLeft, escaped(chart.title));
  svg += fmt::format("<text x='{}' y='{}' text-anchor='middle'>{}</text>\n", (kLeft + right) / 2,
                     chart.height - 8, escaped(chart.x));
  svg += fmt::format("<text transform='translate(14 {}) rotate(-90)' text-anchor='middle'>{}</text>\n",
                     (kTop + bottom) / 2, escaped(chart.y));
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
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' "
      "font-family='sans-serif' font-size='12' fill='#222'>\n<rect width='100%' height='100%' "
      "fill='white'/>\n",
      chart.width, chart.height);
  svg += axes(chart, plane);
  // The legend is above the plot, right-aligned.
  double right = chart.width - kRight;
  for (std::size_t i = chart.lines.size(); i-- > 0;) {
    const char* const colour = kColours[i % kColours.size()];
    svg += fmt::format("<text x='{:.1f}' y='18' text-anchor='end' fill='{}'>{}</text>\n", right, colour,
                       escaped(chart.lines[i].name));
    right -= 7.0 * static_cast<double>(chart.lines[i].name.size()) + 18;
  }
  for (std::size_t i = 0; i < chart.lines.size(); ++i)
    svg += drawn(chart.lines[i], plane, kColours[i % kColours.size()]);
  return svg + "</svg>\n";
}

void write_chart(const std::string& path, const Chart& chart) { write_file(path, chart_svg(chart)); }

}  // namespace veldt::io
