// A folder where a verb wants one field: what it holds, and what to do with that.
// Tests: tests/app/render_test.cpp
#pragma once

#include <string>

namespace veldt::app {

// `verb`: the command's word, "render" or "export"; `loop`: the rest of the command that a shell is to run
// for each "$m". Throws UsageError.
[[noreturn]] void refuse_folder(std::string folder, const std::string& verb, const std::string& loop);

}  // namespace veldt::app
