// Environment variables, which the command reads and the library does not.
// Tests: tests/app/config_test.cpp
#pragma once

#include <string>

namespace veldt::cli {

// The value; "" if it is not set.
std::string variable(const char* name);

}  // namespace veldt::cli
