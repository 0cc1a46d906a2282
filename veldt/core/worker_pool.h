// The threads of parallel_for: created once, when first needed, and shared by all callers. Only for
// core/threads.cpp.
//
// A caller claims free workers, gives each of them and itself a share of the pieces, and works through its
// own. A thread that has finished takes pieces from the end of the others' shares, so a worker that the
// system does not schedule only delays the piece that it has begun: others take the rest. A worker waits for
// its next job by spinning for some microseconds, then sleeps in the kernel.
// Tests: tests/core/threads_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/core/function_ref.h"

namespace veldt::workers {

using Body = FunctionRef<void(std::int64_t, std::int64_t)>;

// Calls body(begin, end) for 0..n in pieces of `grain`, on this thread and at most `helpers` workers, of
// which some leave if all callers together have more than `threads` working. An exception of a body is
// rethrown here; pieces that have not begun by then are skipped.
void run(std::int64_t n, std::int64_t grain, Body body, int helpers, int threads);

// True within a body of run(), on any thread.
bool inside();

// While one exists, this thread counts as a caller of the pool, and loops within it run on this thread only.
class Caller {
 public:
  Caller();
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  // Current callers of the pool, including this one.
  static int count();
};

// Ends the workers beyond the first `most` when they have no work.
void keep(int most);

// The reason if there are fewer workers than requested, or an empty string.
std::string shortage();

}  // namespace veldt::workers
