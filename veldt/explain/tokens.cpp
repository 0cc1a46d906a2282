// Coloured tokens, for terminals and as a page.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veldt/core/escape.h"
#include "veldt/explain/heat.h"

namespace veldt::explain {
namespace {

double largest_of(const TokenHeat& tokens) {
  double largest = 0;
  for (const auto& [text, heat] : tokens)
    if (std::isfinite(heat)) largest = std::max(largest, std::abs(heat));
  return largest;
}

// -1..1
double share_of(double heat, double largest) {
  return largest > 0 && std::isfinite(heat) ? heat / largest : 0;
}

std::string escaped_for_html(std::string_view text) {
  std::string escaped;
  for (const char c : escape_controls(text, "\n\t")) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else
      escaped += c;
  }
  return escaped;
}

// Red or blue on white.
std::string css_colour(double share) {
  const double rest = 1 - 0.8 * std::abs(share);
  const auto level = static_cast<int>(std::lround(255 * rest));
  return share >= 0 ? fmt::format("rgb(255,{0},{0})", level) : fmt::format("rgb({0},{0},255)", level);
}

}  // namespace

std::string tokens_for_terminal(const TokenHeat& tokens) {
  const double largest = largest_of(tokens);
  std::string text;
  for (const auto& [token, heat] : tokens) {
    const double share = share_of(heat, largest);
    // The cube of 256 colours has six levels of each: the background goes from white to red or blue.
    const auto rest = static_cast<int>(5 - std::lround(5 * std::abs(share)));
    const int red = share >= 0 ? 5 : rest, green = rest, blue = share >= 0 ? rest : 5;
    const std::string begin =
        fmt::format("\x1b[48;5;{};38;5;{}m", 16 + 36 * red + 6 * green + blue, rest < 2 ? 231 : 16);
    std::string shown;
    for (const char c : escape_controls(token, "\n")) {
      if (c == '\n')
        shown += "\u23ce\x1b[0m\n" + begin;  // seen, and then the line ends without a colour
      else
        shown += c;
    }
    text += begin + shown + "\x1b[0m";
  }
  return text;
}

std::string tokens_html(const TokenHeat& tokens, const std::string& title) {
  const double largest = largest_of(tokens);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n<style>\n"
      "body {{ font: 16px/1.7 sans-serif; margin: 2em auto; max-width: 50em; color: #222; background: #fff "
      "}}\n"
      ".text {{ font-family: monospace; white-space: pre-wrap; overflow-wrap: anywhere }}\n"
      ".scale {{ height: 1em; background: linear-gradient(to right, {1}, #fff, {2}) }}\n"
      ".numbers {{ display: flex; justify-content: space-between; font-size: 13px }}\n"
      "</style></head><body>\n<h1 style=\"font-size: 20px\">{0}</h1>\n<p class=\"text\">",
      escaped_for_html(title), css_colour(-1), css_colour(1));
  for (const auto& [token, heat] : tokens)
    page += fmt::format("<span style=\"background:{}\" title=\"{:.4g}\">{}</span>",
                        css_colour(share_of(heat, largest)), heat, escaped_for_html(token));
  page += fmt::format(
      "</p>\n<div class=\"scale\"></div>\n<div class=\"numbers\"><span>-{0:.3g} speaks against it</span>"
      "<span>0</span><span>+{0:.3g} speaks for it</span></div>\n</body></html>\n",
      largest);
  return page;
}

}  // namespace veldt::explain
