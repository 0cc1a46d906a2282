// Checks a configuration before the TOML library reads it.
// Tests: tests/io/config_text_test.cpp, tests/app/config_test.cpp
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace veldt::io {

struct ConfigTextFault {
  int line = 0;
  std::string why, fix;
};

// The first thing that TOML 1.0 forbids and that releases of toml++ before 3.4 do not handle reliably (they
// miss a letter beyond ASCII outside of quotes and comments, and "[" without a name), or that no
// configuration needs: a long line, or deep nesting, which overflows the stack. Texts and comments may hold
// any character except control characters.
std::optional<ConfigTextFault> fault_in_config(std::string_view text);

}  // namespace veldt::io
