// Makes texts from files safe to print.
// Tests: tests/core/error_test.cpp
#pragma once

#include <string>
#include <string_view>

namespace veldt {

// For a line of a terminal or a log: control characters, and bytes that are not UTF-8, as \x1b, so that the
// text can neither end its line nor control the terminal. Characters in `except` stay unchanged. Errors
// escape all of their texts like this.
std::string escape_controls(std::string_view text, std::string_view except = {});

}  // namespace veldt
