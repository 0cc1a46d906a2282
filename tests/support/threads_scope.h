// Sets the number of threads, and restores it however a test ends.
#pragma once

#include "veldt/core/threads.h"

namespace veldt::test {

// While one exists, work uses `n` threads, or as many as set_num_threads() sets meanwhile; then as many as
// before.
class ThreadsScope {
 public:
  ThreadsScope() = default;
  explicit ThreadsScope(int n) { set_num_threads(n); }
  ~ThreadsScope() { set_num_threads(before_); }
  ThreadsScope(const ThreadsScope&) = delete;
  ThreadsScope& operator=(const ThreadsScope&) = delete;

 private:
  const int before_ = num_threads();
};

}  // namespace veldt::test
