// Ctrl-C and SIGTERM for verbs that work for long: the first one asks to stop after the current step, the
// second one stops at once.
#pragma once

namespace veldt::app {

// While one lives, the first SIGINT or SIGTERM is remembered, and the second ends the process with 130 or
// 143. Without one a signal ends the process as usual. At most one at a time.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  bool requested() const;
  // 130 or 143 after a signal, 0 without one.
  int exit_code() const;
};

}  // namespace veldt::app
