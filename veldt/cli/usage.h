// What CLI11 says is wrong with a command line, in Veldt's words.
// Tests: tests/app/bad_input_test.cpp, tests/app/command_test.cpp
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>

#include "veldt/cli/exit.h"

namespace veldt::cli {

// The verb (and its verb) that was reached when parsing ended; `root` itself if none was.
const CLI::App& deepest(const CLI::App& root);
// "veldt csv encode"
std::string full_name(const CLI::App& app);

// For the word that stands where a verb of `app` belongs, and is none.
std::optional<UsageError> mistyped_verb(const CLI::App& app);

UsageError explain(const CLI::App& root, const CLI::ParseError& error);

}  // namespace veldt::cli
