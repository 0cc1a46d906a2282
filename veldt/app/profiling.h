// --profile and --trace of fit and train: where the time went, kernel by kernel.
// Tests: tests/app/live_test.cpp, tests/app/fit_test.cpp
#pragma once

#include <optional>
#include <string>

#include "veldt/app/frame.h"
#include "veldt/cli/option_tree.h"
#include "veldt/tensor/profile.h"

namespace veldt::app {

struct ProfileFlags {
  bool table = false;
  std::string trace = {};  // a file; empty: none
};
void add_profile(VerbOptions& verb, ProfileFlags& flags, const std::string& help);
// Throws UsageError for a trace of another kind of file, before anything is done.
void check_profile(const ProfileFlags& flags);

// Profiles this thread if the flags say so, until finish().
class Profiling {
 public:
  // Throws IoError unwritable for a file that cannot be.
  explicit Profiling(const ProfileFlags& flags);
  // Prints the table to stderr, and writes the trace.
  void finish();

 private:
  ProfileFlags flags_;
  std::optional<Profile> profile_;
};

}  // namespace veldt::app
