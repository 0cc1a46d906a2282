// Sizes that people write: 1024, 1920x1080, or so many times the size it has.
#include "veldt/app/picture_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veldt/io/text_values.h"

namespace veldt::app {
namespace {

std::vector<std::int64_t> size_from(const io::Source& source, const std::string& text) {
  const std::vector<std::int64_t> sides = numbers_from<std::int64_t>(text, 'x');
  const bool is_size = sides.size() == 1 || sides.size() == 2;
  if (!is_size || sides.front() < 1 || sides.back() < 1)
    throw io::bad_value(source, text,
                        is_size ? "a side must be above 0" : "it is the longer side, or a width and a height",
                        fmt::format("use {} or {}", io::example_of(source, "1024"),
                                    io::example_of(source, "1920x1080", true)));
  return sides;
}

std::int64_t whole(double size) { return std::max<std::int64_t>(1, std::llround(std::min(size, 1e15))); }

}  // namespace

Size size_for(const WishedSize& wished, double width, double height) {
  if (wished.sides.size() == 2) return {.width = wished.sides[0], .height = wished.sides[1]};
  const double scale = wished.sides.empty() ? wished.scale.value_or(1)
                                            : static_cast<double>(wished.sides[0]) / std::max(width, height);
  return {.width = whole(width * scale), .height = whole(height * scale)};
}

void add_size(VerbOptions& verb, WishedSize& into, const std::string& what) {
  Setting& size = add_text(verb, "--size", "N|WxH", "pixels along the longer side, or width and height",
                           [&into](auto& source, auto& text) { into.sides = size_from(source, text); });
  add_number(verb, "--scale", into.scale, {.above = 0}, "times the size of " + what).excludes(size);
}

}  // namespace veldt::app
