// What the pages are made of: the files of the same names beside this one, which the library carries.
// Tests: tests/live/site_test.cpp
#pragma once

#include <string_view>

namespace veldt::live {

extern const std::string_view page_html;
extern const std::string_view page_css;
extern const std::string_view page_js;
extern const std::string_view panels_js;
extern const std::string_view chart_js;

}  // namespace veldt::live
