// A command from argv to exit code.
// Tests: tests/app/command_test.cpp, tests/app/faults_test.cpp, tests/fuzz/commands.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/cli/verb.h"

namespace veldt::cli {

int run_command(const Program& program, int argc, char** argv);

// The same without running the verb: reads the arguments, the environment and the configuration files, and
// returns the verb's name ("csv encode"), or "" if they ask for help or the version. Throws what
// run_command() reports.
std::string parse_command(const Program& program, const std::vector<std::string>& arguments);

}  // namespace veldt::cli
