// One pool of threads for the whole process, and a loop over it.
// Tests: tests/core/threads_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/core/function_ref.h"

namespace veldt {

// How many threads work is spread over. At first what the environment says, VELDT_THREADS or else
// OMP_NUM_THREADS, and otherwise the cores that this process may use (core/cores.h). Throws ConfigError if
// VELDT_THREADS is not a number from 1 to 1024.
int num_threads();
// Ends the threads that are too many; those that are missing are made when they are needed, so after
// set_num_threads(1) none is left, as a library wants it that is about to be unloaded. Throws ConfigError
// below 1 or above 1024.
void set_num_threads(int n);

// Why fewer threads work than num_threads() says (the system refused to make one), or an empty string.
// set_num_threads() forgets it, and lets it be tried again.
std::string thread_shortage();

// Calls body(begin, end) over 0..n cut into pieces of `grain` (the last one shorter), spread over the
// threads. The cut depends on n and grain alone, never on the number of threads, so a body that writes one
// partial result per piece gives the same bits on any machine. What `body` throws is thrown here, after the
// loop; pieces that had not begun are left out then.
//
// Several threads may call it at once: they share the pool. At most num_threads() callers and workers are at
// work, or only the callers if they are more; a worker that is one too many ends its piece first.
// A loop within a body runs by itself. After a fork() the child makes threads of its own.
void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body);

// num_threads(), or 1 inside of a parallel_for, whose bodies do not share out their work again.
int threads_here();

// A grain for parallel_for, a multiple of `step` and about `most` at most, by which each of threads_here()
// gets as much as the others where n allows it. For bodies that give the same bits however the work is cut:
// alone of all cuts this one depends on the number of threads.
std::int64_t even_grain(std::int64_t n, std::int64_t most, std::int64_t step);

// While one lives, this thread works by itself: num_threads() is 1 for it. For threads beside the pool.
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
