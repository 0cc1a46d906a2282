// The words of the frame (veldt/cli), in which verbs and what they share are written.
// Tests: tests/app/command_test.cpp
#pragma once

namespace veldt::cli {}

namespace veldt::app {

using namespace cli;

}  // namespace veldt::app
