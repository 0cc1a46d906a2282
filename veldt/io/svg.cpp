// What all charts have: text in SVG, ranges, ticks on round numbers.
#include "veldt/io/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace veldt::io {

std::string escaped_for_svg(const std::string& text) {
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

void AxisRange::take(double v) { low = std::min(low, v), high = std::max(high, v); }

void AxisRange::open() {
  // A range so narrow that its ticks could not differ counts as empty.
  if (high - low > 1e-9 * std::max(std::abs(low), std::abs(high))) return;
  const double room = low == 0 ? 1 : std::abs(low) / 2;
  low -= room, high += room;
}

std::vector<double> axis_ticks(const AxisRange& range) {
  const double rough = (range.high - range.low) / 6;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double share = rough / power;
  const double step = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  std::vector<double> all;
  for (double i = std::ceil(range.low / step); i * step <= range.high + step * 1e-9; ++i)
    all.push_back(i * step + 0.0);  // which makes 0 of -0
  return all;
}

std::string tick_svg(double x, double y, double number, int width) {
  constexpr double kDigit = 7, kMargin = 3;  // a digit of twelve points is narrower in any common font
  const std::string text = fmt::format("{:.6g}", number);
  const double half = kDigit / 2 * static_cast<double>(text.size());
  return fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{}</text>\n",
                     std::min(x, width - kMargin - half), y, text);
}

std::string svg_head(int width, int height) {
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' "
      "font-family='sans-serif' font-size='12' fill='#222'>\n<rect width='100%' height='100%' "
      "fill='white'/>\n",
      width, height);
}

}  // namespace veldt::io
