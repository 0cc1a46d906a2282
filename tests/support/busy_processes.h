// Neighbours that never sleep.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace veldt::test {

// Processes that compute while this object exists.
class BusyProcesses {
 public:
  explicit BusyProcesses(std::size_t count) : pids_(count) {
    for (pid_t& pid : pids_) {
      pid = ::fork();
      if (pid != 0) continue;
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves none behind
      for (volatile std::uint64_t turns = 0;;) turns = turns + 1;
    }
  }
  ~BusyProcesses() {
    for (const pid_t pid : pids_) {
      if (pid <= 0) continue;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  BusyProcesses(const BusyProcesses&) = delete;
  BusyProcesses& operator=(const BusyProcesses&) = delete;

 private:
  std::vector<pid_t> pids_;
};

}  // namespace veldt::test
