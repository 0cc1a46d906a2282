// docs/cli.md, made from the option tree: `veldt help --markdown`.
// Tests: tests/app/command_test.cpp
#pragma once

#include <string>

#include "veldt/app/option_tree.h"

namespace veldt::app {

std::string manual(const VerbOptions& tree);

}  // namespace veldt::app
