// One pool of threads for the whole process, and a loop over it.
// Tests: tests/core/threads_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/core/function_ref.h"

namespace veldt {

// The number of threads for parallel work. The default is VELDT_THREADS or else OMP_NUM_THREADS from the
// environment, otherwise the cores that this process may use (core/cores.h). Throws ConfigError if
// VELDT_THREADS is not a number from 1 to 1024.
int num_threads();
// Ends surplus threads; missing ones are created when they are needed. So after set_num_threads(1) none is
// left, which a library needs before it is unloaded. Throws ConfigError below 1 or above 1024.
void set_num_threads(int n);

// The reason if fewer threads work than num_threads() says (the system refused to create one), or an empty
// string. set_num_threads() clears it and allows another attempt.
std::string thread_shortage();

// Calls body(begin, end) over 0..n cut into pieces of `grain` (the last one shorter), spread over the
// threads. The split depends only on n and grain, never on the number of threads, so a body that writes one
// partial result per piece gives the same bits on any machine. An exception of `body` is rethrown here after
// the loop; pieces that had not begun are skipped.
//
// Several threads may call it at once: they share the pool. At most num_threads() callers and workers run, or
// only the callers if they are more; a surplus worker finishes its piece first. A loop within a body runs on
// its own thread. After a fork() the child creates its own threads.
void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body);

// num_threads(), or 1 inside of a parallel_for, whose bodies are not parallel again.
int threads_here();

// A grain for parallel_for, a multiple of `step` and at most about `most`, that gives each of threads_here()
// the same share if n allows it. Only for bodies whose bits do not depend on the split, because unlike other
// grains this one depends on the number of threads.
std::int64_t even_grain(std::int64_t n, std::int64_t most, std::int64_t step);

// While one exists, this thread works alone: num_threads() is 1 for it. For threads outside the pool.
class SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  bool before_;
};

}  // namespace veldt
