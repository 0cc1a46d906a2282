// The text of --help, laid out by Veldt itself.
// Tests: tests/app/command_test.cpp
#pragma once

#include <CLI/App.hpp>
#include <cstddef>
#include <string>

namespace veldt::cli {

// Words on lines of at most `width`, the later ones indented.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width);

// "usage: veldt render MODEL -o,--output PATH [flags]\n"
std::string usage_line(const CLI::App& app);
// What a flag or an argument does, without its default.
std::string meaning_of(const CLI::Option& option);

// Usage, description, arguments, flags by group with their defaults, and examples (the verb's footer).
std::string help_text(const CLI::App& app, int columns);

}  // namespace veldt::cli
