// What pages have in common: their texts, and how a template is filled.
// Tests: tests/publish/page_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veldt::publish {

// `text` with &, < > " and ' as HTML has them, control characters and bytes that are not UTF-8 escaped.
std::string in_html(const std::string& text);

// `text` without the lines that are comments of //, and without what lines are indented by.
std::string stripped(std::string_view text);

// `text` with each {{name}} replaced by its value.
std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string_view>>& values);

// "1,234,567"
std::string grouped(std::int64_t n);

// The buttons of a picture's page.
extern const std::string_view picture_controls;

}  // namespace veldt::publish
