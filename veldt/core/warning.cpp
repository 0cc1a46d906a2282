// The process's listener for warnings.
#include "veldt/core/warning.h"

#include <cstdio>
#include <mutex>
#include <utility>

namespace veldt {
namespace {

std::mutex& lock() {
  static std::mutex& mutex = *new std::mutex;  // for the last objects of a process too
  return mutex;
}

WarningListener& listener() {
  static WarningListener& current = *new WarningListener;
  return current;
}

}  // namespace

WarningListener set_warning_listener(WarningListener next) {
  const std::lock_guard guard(lock());
  return std::exchange(listener(), std::move(next));
}

void warn(const std::string& text) {
  WarningListener current;
  {
    const std::lock_guard guard(lock());
    current = listener();
  }
  if (current)
    current(text);
  else
    std::fprintf(stderr, "veldt: warning: %s\n", text.c_str());
}

}  // namespace veldt
