// Runs the real veldt command, without a shell, and captures its output.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace veldt::test {

inline const std::string kCub = VELDT_SOURCE "/assets/cub.png";

// The command's stdin or stdout.
enum class Stream {
  captured,     // stdin: empty; stdout: in Ran::out
  closed,       // not open at all
  reader_gone,  // stdout: a pipe that nobody reads
  full_device,  // stdout: /dev/full
};

struct RunOptions {
  Stream in = Stream::captured;
  Stream out = Stream::captured;
  std::string binary = {};                    // empty: veldt_binary()
  std::string directory = {};                 // where it runs; empty: here
  std::vector<std::string> environment = {};  // "NAME=value", beside what is there
  bool as_nobody = false;                     // root drops its rights first
  double limit_seconds = 120;                 // then it is killed, and the test fails
  // Signals to send, each after the seconds given.
  std::vector<std::pair<double, int>> signals = {};
};

struct Ran {
  int exit_code = -1;  // minus the signal that ended it
  std::string out, err;
  double seconds = 0;      // wall time
  double cpu_seconds = 0;  // CPU time: the same on a busy machine
};

// $VELDT_BINARY, or the one of this build.
std::string veldt_binary();

Ran run_veldt(const std::vector<std::string>& arguments, const RunOptions& options = {});

// "veldt: error: ..\n  why: ..\n  fix: ..\n" and nothing else.
testing::AssertionResult has_three_lines(const std::string& text);

}  // namespace veldt::test
