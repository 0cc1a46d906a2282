// A field as one HTML file that computes it in the viewer's browser, and needs nothing else.
// Tests: tests/publish/page_test.cpp, tests/publish/pages_test.py
#pragma once

#include <string>

#include "veldt/field/field.h"

namespace veldt::publish {

struct PageOptions {
  std::string title = "A field";
};

struct Page {
  std::string html;
  std::string rounding;  // of the numbers within, in words: "numbers of 8 to 16 bits"
  double changed = 0;    // the share of pixels that this changes visibly, in what was compared
};

// Any picture or sound. The numbers are rounded as far as drawings stay the same (packed.h).
Page page(const field::Field& field, const PageOptions& options = {});

}  // namespace veldt::publish
