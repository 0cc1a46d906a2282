// A folder where a verb wants one field: what it holds, and what to do with that.
// Tests: tests/app/render_test.cpp
#pragma once

#include <string>

namespace veldt::app {

// `verb`: the command's word, "render" or "export"; `output`: the ending of the files that a loop of the
// shell is to write, or "/"; `rest`: of its command. Throws UsageError.
[[noreturn]] void refuse_folder(std::string folder, const std::string& verb, const std::string& output,
                                const std::string& rest = "");

}  // namespace veldt::app
