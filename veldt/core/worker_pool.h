// The threads that parallel_for spreads its pieces over: made once, when first needed, and shared by all
// callers. For core/threads.cpp alone.
//
// A caller claims workers that are free, gives each of them and itself a share of the pieces, and works
// through its own. Who has finished takes pieces from the end of the others' shares, so a worker that the
// system does not let run holds nobody up but for the piece it has begun: what it has not is taken back.
// A worker waits for its next job by spinning for some microseconds, then asleep in the kernel.
// Tests: tests/core/threads_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/core/function_ref.h"

namespace veldt::workers {

using Body = FunctionRef<void(std::int64_t, std::int64_t)>;

// Calls body(begin, end) for 0..n in pieces of `grain`, on this thread and at most `helpers` workers, of
// which some leave where all callers together have more than `threads` at work. What a body throws is thrown
// here; pieces that nobody has begun by then are left out.
void run(std::int64_t n, std::int64_t grain, Body body, int helpers, int threads);

// True within a body of run(), on any thread.
bool inside();

// While one lives, this thread counts as one that wants the pool, and loops within it run by themselves.
class Caller {
 public:
  Caller();
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  // Threads that want the pool now, this one among them.
  static int count();
};

// Ends the workers beyond the first `most`, when they have no work.
void keep(int most);

// Why there are fewer workers than were asked for, or an empty string.
std::string shortage();

}  // namespace veldt::workers
