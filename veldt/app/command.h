// The veldt command from argv to exit code.
#pragma once

namespace veldt::app {

int run_command(int argc, char** argv);

}  // namespace veldt::app
