// The text of --help, laid out by Veldt itself.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace veldt::app {

// Usage, description, arguments, flags by group with their defaults, and examples (the verb's footer).
std::string help_text(const CLI::App& app, int width = 100);

}  // namespace veldt::app
