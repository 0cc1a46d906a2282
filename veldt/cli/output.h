// stdout, for results. Progress and messages go to stderr: cli/terminal.h.
// Tests: tests/app/command_test.cpp, tests/app/outputs_test.cpp
#pragma once

#include <algorithm>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace veldt::cli {

// A PSNR or SNR for JSON, which has no infinity: 999 stands for that of identical signals, -999 for that of
// anything compared with silence.
inline double decibels_in_json(double decibels) { return std::clamp(decibels, -999.0, 999.0); }

// Writes at once. A reader that has closed the pipe (`veldt info x | head -1`) is not an error; the rest is
// dropped.
class Output {
 public:
  // Throws IoError unwritable: a redirection to a full disk, a stdout that was closed from the start.
  void text(std::string_view text);
  // Text that a network has written: to a terminal with control characters escaped, line ends and tabs
  // excepted; to a file or a pipe byte for byte.
  void foreign_text(std::string_view text);
  // One object on one line; text that is not UTF-8 gets U+FFFD. A verb prints at most one.
  void json(const nlohmann::ordered_json& object);
  // Drops all later output, because stdout is used for something else.
  void close() { closed_ = true; }
  // There is no stdout: later output is lost, which is an error.
  void lose() { lost_ = true; }
  bool has_json() const { return has_json_; }

 private:
  bool has_json_ = false;
  bool closed_ = false;
  bool lost_ = false;
};

// A closed stdin, stdout or stderr becomes /dev/null: otherwise the next file that is opened takes its
// number, and results are written into it. SIGPIPE becomes an error that Output understands. False if stdout
// was closed.
bool prepare_standard_streams();

}  // namespace veldt::cli
