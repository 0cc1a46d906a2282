// The number of threads, given back as it was found however a test ends.
#pragma once

#include "veldt/core/threads.h"

namespace veldt::test {

// While one lives, work is shared by `n` threads, or by as many as set_num_threads() says meanwhile; then by
// as many as before.
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
