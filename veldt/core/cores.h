// The number of processor cores that this process may keep busy, as the kernel reports it.
// Tests: tests/core/threads_test.cpp, tests/app/doctor_test.cpp
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace veldt {

struct Cores {
  int allowed = 1;              // hardware threads in the affinity mask of the calling thread
  std::optional<double> quota;  // cores' worth of time that a control group grants, such as 1.5

  // allowed, or the quota rounded up where that is less; at least 1.
  int usable() const;
};

// `root` is put before /proc and /sys, for tests.
Cores cores_of_this_process(const std::string& root = "");

// The directories of this process's control groups for a controller ("cpu", "memory"), of either version,
// from its own up to the root; any of them may have a limit.
std::vector<std::string> control_groups(const std::string& root, const std::string& controller);

}  // namespace veldt
