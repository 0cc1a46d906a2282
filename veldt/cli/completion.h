// Scripts that complete the command in a shell, made from the option tree.
// Tests: tests/app/completion_test.cpp
#pragma once

#include <string>

#include "veldt/cli/option_tree.h"

namespace veldt::cli {

std::string bash_completion(const VerbOptions& tree);
std::string zsh_completion(const VerbOptions& tree);
std::string fish_completion(const VerbOptions& tree);

}  // namespace veldt::cli
