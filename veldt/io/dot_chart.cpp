// Draws rows of dots, their means and deviations, into SVG.
#include "veldt/io/dot_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/io/svg.h"

namespace veldt::io {
namespace {

constexpr double kTopOfRows = 44, kRowHeight = 20, kBottomOfRows = 44, kSide = 16, kLetter = 6.6;

// Letters, of UTF-8 without the bytes that go on.
std::size_t letters_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// At most `most` letters, the last of them dots where some are left out.
std::string shortened(const std::string& text, std::size_t most) {
  if (letters_of(text) <= most) return text;
  std::size_t at = 0, letters = 0;
  for (; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) continue;
    if (letters++ == most - 2) break;
  }
  return text.substr(0, at) + "..";
}

struct DrawnRow {
  std::vector<double> values;  // finite ones
  double mean = 0, deviation = 0;
};

DrawnRow drawn_row(const DotRow& row) {
  DrawnRow drawn;
  for (const double v : row.values)
    if (std::isfinite(v)) drawn.values.push_back(v);
  const auto count = static_cast<double>(drawn.values.size());
  for (const double v : drawn.values) drawn.mean += v / count;
  for (const double v : drawn.values) drawn.deviation += (v - drawn.mean) * (v - drawn.mean);
  drawn.deviation = count > 1 ? std::sqrt(drawn.deviation / (count - 1)) : 0;
  if (!std::isfinite(drawn.deviation)) drawn.deviation = 0;  // of numbers near the largest
  return drawn;
}

AxisRange axis_of(const DotChart& chart, const std::vector<DrawnRow>& rows) {
  AxisRange range;
  for (const DrawnRow& row : rows) {
    for (const double v : row.values) range.take(v);
    if (!row.values.empty()) range.take(row.mean - row.deviation), range.take(row.mean + row.deviation);
  }
  if (!(range.low <= range.high))
    throw ConfigError("there is nothing to draw", "no row has a finite value", "give one with numbers");
  range.low = chart.from.value_or(range.low), range.high = chart.to.value_or(range.high);
  if (!(range.low <= range.high))
    throw ConfigError("the axis ends before it begins",
                      fmt::format("it begins at {} and ends at {}", range.low, range.high),
                      "give other bounds");
  range.open();
  const double room = (range.high - range.low) * 0.03;
  range.low = std::max(range.low - room, chart.least), range.high = std::min(range.high + room, chart.most);
  return range;
}

// Where rows and numbers stand.
struct DotPlane {
  AxisRange range;
  double left = 0, right = 0, bottom = 0;
  double across(double v) const { return left + (v - range.low) / (range.high - range.low) * (right - left); }
  bool holds(double v) const { return v >= range.low && v <= range.high; }
};

std::string axis_svg(const DotPlane& plane, const DotChart& chart) {
  const double top = kTopOfRows - 8, bottom = plane.bottom;
  std::string svg;
  for (const double t : axis_ticks(plane.range)) {
    svg += fmt::format("<path d='M{0:.1f} {1}V{2}' stroke='#ddd'/>\n", plane.across(t), top, bottom);
    svg += tick_svg(plane.across(t), bottom + 16, t, chart.width);
  }
  svg += fmt::format("<path d='M{:.1f} {}V{}H{:.1f}' stroke='#444' fill='none'/>\n", plane.left, top, bottom,
                     plane.right);
  return svg + fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>\n",
                           (plane.left + plane.right) / 2, bottom + 34, escaped_for_svg(chart.x));
}

// At the edge that the mean is beyond.
std::string arrow_svg(const DotPlane& plane, double mean, double y) {
  const bool below = mean < plane.range.low;
  const double x = below ? plane.left + 4 : plane.right - 4, end = below ? x + 8 : x - 8;
  return fmt::format("<path d='M{:.1f} {:.1f}L{:.1f} {:.1f}V{:.1f}Z' fill='{}'/>\n", x, y, end, y - 5, y + 5,
                     kColours[0]) +
         fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}'>{:.4g}</text>\n",
                     below ? end + 5 : end - 5, y + 4, below ? "start" : "end", mean);
}

std::string row_svg(const DotPlane& plane, const DrawnRow& row, double y) {
  if (row.values.empty()) return "";
  if (!plane.holds(row.mean)) return arrow_svg(plane, row.mean, y);
  std::string svg;
  for (const double v : row.values)
    if (plane.holds(v))
      svg += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='{}' fill-opacity='0.4'/>\n",
                         plane.across(v), y, kColours[0]);
  if (row.deviation > 0)
    svg += fmt::format("<path d='M{:.1f} {:.1f}H{:.1f}' stroke='{}' stroke-width='1.5'/>\n",
                       plane.across(std::max(row.mean - row.deviation, plane.range.low)), y,
                       plane.across(std::min(row.mean + row.deviation, plane.range.high)), kColours[0]);
  return svg + fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='4' fill='{}'/>\n", plane.across(row.mean), y,
                           kColours[0]);
}

}  // namespace

std::string dot_chart_svg(const DotChart& chart) {
  std::size_t name_letters = 0, note_letters = 0;
  std::vector<DrawnRow> rows;
  for (const DotRow& row : chart.rows) {
    name_letters = std::min<std::size_t>(std::max(name_letters, letters_of(row.name)), 60);
    note_letters = std::min<std::size_t>(std::max(note_letters, letters_of(row.note)), 30);
    rows.push_back(drawn_row(row));
  }
  DotPlane plane{.range = axis_of(chart, rows)};
  plane.left = kSide + kLetter * static_cast<double>(name_letters) + 10;
  plane.right =
      chart.width - kSide - (note_letters > 0 ? kLetter * static_cast<double>(note_letters) + 10 : 0);
  plane.bottom = kTopOfRows + kRowHeight * static_cast<double>(rows.size());
  std::string svg = svg_head(chart.width, static_cast<int>(plane.bottom + kBottomOfRows));
  svg +=
      fmt::format("<text x='{}' y='22' font-weight='bold'>{}</text>\n", kSide, escaped_for_svg(chart.title));
  svg += axis_svg(plane, chart);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = kTopOfRows + kRowHeight * (static_cast<double>(i) + 0.5);
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>{}</text>\n", plane.left - 8, y + 4,
                       escaped_for_svg(shortened(chart.rows[i].name, name_letters)));
    if (!chart.rows[i].note.empty())
      svg += fmt::format("<text x='{:.1f}' y='{:.1f}' fill='#777'>{}</text>\n", plane.right + 8, y + 4,
                         escaped_for_svg(shortened(chart.rows[i].note, note_letters)));
    svg += row_svg(plane, rows[i], y);
  }
  return svg + "</svg>\n";
}

}  // namespace veldt::io
