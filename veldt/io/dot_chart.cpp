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

struct Middle {
  double mean = 0, deviation = 0;
};
Middle middle_of(const std::vector<double>& values) {
  Middle m;
  const auto count = static_cast<double>(values.size());
  for (const double v : values) m.mean += v / count;
  for (const double v : values) m.deviation += (v - m.mean) * (v - m.mean);
  m.deviation = values.size() > 1 ? std::sqrt(m.deviation / (count - 1)) : 0;
  return m;
}

std::string row_svg(const std::vector<double>& values, double y, const auto& across) {
  std::string svg;
  for (const double v : values)
    svg += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='{}' fill-opacity='0.4'/>\n", across(v), y,
                       kColours[0]);
  const Middle m = middle_of(values);
  if (m.deviation > 0)
    svg += fmt::format("<path d='M{:.1f} {:.1f}H{:.1f}' stroke='{}' stroke-width='1.5'/>\n",
                       across(m.mean - m.deviation), y, across(m.mean + m.deviation), kColours[0]);
  return svg +
         fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='4' fill='{}'/>\n", across(m.mean), y, kColours[0]);
}

}  // namespace

std::string dot_chart_svg(const DotChart& chart) {
  AxisRange range;
  std::size_t name_letters = 0, note_letters = 0;
  std::vector<std::vector<double>> rows;
  for (const DotRow& row : chart.rows) {
    name_letters = std::max(name_letters, letters_of(row.name)),
    note_letters = std::max(note_letters, letters_of(row.note));
    std::vector<double>& finite = rows.emplace_back();
    for (const double v : row.values)
      if (std::isfinite(v)) finite.push_back(v);
    if (finite.empty()) continue;
    const Middle m = middle_of(finite);
    for (const double v : {m.mean - m.deviation, m.mean + m.deviation}) range.take(v);
    for (const double v : finite) range.take(v);
  }
  if (!(range.low <= range.high))
    throw ConfigError("there is nothing to draw", "no row has a finite value", "give one with numbers");
  range.open();
  const double room = (range.high - range.low) * 0.03;
  range.low -= room, range.high += room;

  name_letters = std::min<std::size_t>(name_letters, 60),
  note_letters = std::min<std::size_t>(note_letters, 30);
  const double left = kSide + kLetter * static_cast<double>(name_letters) + 10,
               right = chart.width - kSide -
                       (note_letters > 0 ? kLetter * static_cast<double>(note_letters) + 10 : 0),
               bottom = kTopOfRows + kRowHeight * static_cast<double>(rows.size());
  const auto across = [&](double v) {
    return left + (v - range.low) / (range.high - range.low) * (right - left);
  };
  std::string svg = svg_head(chart.width, static_cast<int>(bottom + kBottomOfRows));
  svg +=
      fmt::format("<text x='{}' y='22' font-weight='bold'>{}</text>\n", kSide, escaped_for_svg(chart.title));
  for (const double t : axis_ticks(range)) {
    svg += fmt::format("<path d='M{0:.1f} {1}V{2}' stroke='#ddd'/>\n", across(t), kTopOfRows - 8, bottom);
    svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{:.6g}</text>\n", across(t), bottom + 16,
                       t);
  }
  svg += fmt::format("<path d='M{:.1f} {}V{}H{:.1f}' stroke='#444' fill='none'/>\n", left, kTopOfRows - 8,
                     bottom, right);
  svg += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>\n", (left + right) / 2,
                     bottom + 34, escaped_for_svg(chart.x));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = kTopOfRows + kRowHeight * (static_cast<double>(i) + 0.5);
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>{}</text>\n", left - 8, y + 4,
                       escaped_for_svg(shortened(chart.rows[i].name, name_letters)));
    if (!chart.rows[i].note.empty())
      svg += fmt::format("<text x='{:.1f}' y='{:.1f}' fill='#777'>{}</text>\n", right + 8, y + 4,
                         escaped_for_svg(shortened(chart.rows[i].note, note_letters)));
    if (!rows[i].empty()) svg += row_svg(rows[i], y, across);
  }
  return svg + "</svg>\n";
}

}  // namespace veldt::io
