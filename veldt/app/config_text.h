// Looks through a configuration before the TOML library does.
// Tests: tests/app/config_test.cpp
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace veldt::app {

struct ConfigTextFault {
  int line = 0;
  std::string why, fix;
};

// The first thing that TOML 1.0 forbids and on which releases of toml++ before 3.4 behave as they like
// (nothing catches a letter beyond ASCII outside of quotes and comments, or "[" without a name), or of which
// a configuration needs none: a long line, deep nesting, which ends the stack. Texts and comments may hold
// any character but a control one.
std::optional<ConfigTextFault> fault_in_config(std::string_view text);

}  // namespace veldt::app
