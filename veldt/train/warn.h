// Warnings to a run's listener, or to the process's, instead of ending the run.
// Tests: tests/train/loop_test.cpp, tests/train/trainer_test.cpp
#pragma once

#include <string>

#include "veldt/core/error.h"
#include "veldt/core/warning.h"
#include "veldt/train/events.h"

namespace veldt::train {

inline void warn(const Events& events, const std::string& text) {
  if (events.on_warning)
    events.on_warning(text);
  else
    veldt::warn(text);
}

// Warns about a file that could not be written, because training matters more than its files.
inline void warn(const Events& events, const IoError& error) {
  warn(events, str(error.summary(), " (", error.why(), "); training continues"));
}

// True if `write` has; its IoError is a warning.
template <class Write> bool written_or_warned(const Events& events, const Write& write) {
  try {
    write();
    return true;
  } catch (const IoError& error) {
    warn(events, error);
    return false;
  }
}

}  // namespace veldt::train
