// --size and --scale of the verbs that write pictures.
// Tests: tests/app/resize_test.cpp, tests/app/render_test.cpp
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "veldt/app/frame.h"
#include "veldt/cli/option_tree.h"
#include "veldt/core/size.h"

namespace veldt::app {

struct WishedSize {
  std::vector<std::int64_t> sides;  // the longer side, or width and height; empty: not given
  std::optional<double> scale;
};

// The numbers between the separators, or nothing if the text has anything else.
template <class T> std::vector<T> numbers_from(const std::string& text, char separator) {
  std::vector<T> out;
  const char *at = text.data(), *end = at + text.size();
  while (at <= end) {
    T value{};
    const auto parsed = std::from_chars(at, end, value);
    if (parsed.ec != std::errc() || (parsed.ptr != end && *parsed.ptr != separator)) return {};
    out.push_back(value);
    at = parsed.ptr + 1;
  }
  return out;
}

// The size of a picture that is width x height now, at least 1 x 1. One side, or the scale, keeps its form.
Size size_for(const WishedSize& wished, double width, double height);

// "times the size of <what>".
void add_size(VerbOptions& verb, WishedSize& into, const std::string& what);

}  // namespace veldt::app
