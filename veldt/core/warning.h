// Warnings: what a user should know, although nothing stops for it. A listener gets them; without one they
// are lines of standard error.
// Tests: tests/core/warning_test.cpp
#pragma once

#include <functional>
#include <string>

namespace veldt {

using WarningListener = std::function<void(const std::string& text)>;

// Takes the place of the process's listener, and returns the one before. With an empty one, as a process
// begins, warnings are written to standard error: "veldt: warning: <text>".
WarningListener set_warning_listener(WarningListener listener);

// Any thread may call it.
void warn(const std::string& text);

}  // namespace veldt
