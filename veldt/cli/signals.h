// Ctrl-C, SIGTERM and the SIGHUP of a terminal that closes, for verbs that run for long: the first one asks
// for a stop after the current step, a second Ctrl-C or SIGTERM stops at once.
// Tests: tests/app/pieces_test.cpp, tests/app/crash_test.cpp
#pragma once

namespace veldt::cli {

// While an object exists, the first SIGINT, SIGTERM or SIGHUP is remembered, and the second SIGINT or SIGTERM
// ends the process with 130 or 143. A SIGHUP never does: a closing terminal sends several, and a session that
// ends sends one beside its SIGTERM. Without an object a signal ends the process as usual. At most one object
// at a time.
class StopOnSignal {
 public:
  // `note` (a literal, or null) is a line that the first SIGINT or SIGTERM writes to stderr, at once.
  explicit StopOnSignal(const char* note = nullptr);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  bool requested() const;
  // 128 plus the number of the first signal: 129, 130 or 143. Without one 0, or 130 for a run that
  // `was_asked` to stop: by a signal to another of its processes.
  int exit_code(bool was_asked = false) const;
};

// What a run that saves says then; null if it is to be `quiet`.
const char* note_of_stop(bool quiet);

// How often the process was stopped (Ctrl-Z) and went on while there was such an object, or wrote a note of a
// signal: what it had drawn on its terminal is no longer where it was.
int times_continued();

}  // namespace veldt::cli
