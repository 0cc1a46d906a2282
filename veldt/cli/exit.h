// How the command ends: an exit code that scripts can rely on, and an error in three lines.
// Tests: tests/app/pieces_test.cpp, tests/app/command_test.cpp, tests/app/bad_input_test.cpp
#pragma once

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "veldt/core/error.h"

namespace veldt::cli {

enum ExitCode : int {
  kOk = 0,
  kInternal = 1,        // a bug of Veldt
  kUsage = 2,           // the command line or a configuration makes no sense
  kMissing = 3,         // an input is not there
  kMalformed = 4,       // an input breaks its format
  kDevice = 5,          // no such device, or out of memory
  kUnwritable = 6,      // an output cannot be written
  kDiverged = 7,        // training produced a number that is not finite
  kBelowThreshold = 8,  // a result misses a required threshold (--min-psnr)
  kCorrupt = 9,         // a checkpoint or model is damaged, or of a newer version
  kLost = 10,           // another process of the same training is gone
  kInterrupted = 128,   // 128 plus the signal's number: SIGHUP 129, Ctrl-C 130, SIGTERM 143
};

// A result that misses a threshold. Thrown after the result has been printed.
class ThresholdError : public Error {
  using Error::Error;
};

// A signal asked the command to stop before there was a result.
class StoppedError : public Error {
 public:
  StoppedError(int exit_code, std::string_view what, std::string_view fix)
      : Error(what, "a signal asked for it", fix), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// The last checkpoint of a run could not be written, though `kept`, a file, has what it learned.
IoError without_last_checkpoint(const IoError& cause, const std::string& kept);

struct Failure {
  int code = kInternal;
  std::string what, why, fix;
};

// Call within a catch block: describes the current exception.
Failure current_failure();

// Libraries allocate in functions that must not throw (CLI11 2.4 does when it compares names). If that fails,
// the program ends at once; after this call it still says why, and exits with kDevice.
void explain_memory_that_ends_the_program();

// Its what, why, fix and exit_code.
nlohmann::ordered_json in_json(const Failure& failure);

// "veldt: error: what\n  why: ..\n  fix: ..\n"; control characters (from file names, say) are written as
// \x0a.
std::string in_three_lines(const Failure& failure, bool color);

}  // namespace veldt::cli
