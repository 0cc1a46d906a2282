// The veldt command from argv to exit code.
// Tests: tests/app/command_test.cpp, tests/app/faults_test.cpp, tests/fuzz/commands.cpp
#pragma once

#include <string>
#include <vector>

namespace veldt::app {

int run_command(int argc, char** argv);

// The same without running the verb, which is returned ("csv encode"): reads the arguments, and what the
// environment and configuration files add. "" where they ask for a text, which is not printed. Throws what
// run_command() reports.
std::string parse_command(const std::vector<std::string>& arguments);

}  // namespace veldt::app
