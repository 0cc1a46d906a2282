// Warnings: what a user should know and no error stops. Once there is a listener, it gets them; without one they
// are lines of standard error.
// Tests: tests/core/warning_test.cpp
#pragma once

#include <functional>
#include <string>

namespace veldt {

using WarningListener = std::function<void(const std::string& text)>;

// Takes the place of the process's listener, and returns the one before. An empty one: warnings are written to
// standard error, as "veldt: warning: <text>", which is how a process begins.
WarningListener set_warning_listener(WarningListener listener);

// Any thread may call it.
void warn(const std::string& text);

}  // namespace veldt
