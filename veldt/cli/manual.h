// docs/cli.md, made from the option tree: `veldt help --markdown`.
// Tests: tests/app/command_test.cpp
#pragma once

#include <string>

#include "veldt/cli/option_tree.h"

namespace veldt::cli {

std::string manual(const VerbOptions& tree);

}  // namespace veldt::cli
