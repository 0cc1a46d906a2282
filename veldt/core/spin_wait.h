// How a thread waits for another: it spins for some microseconds, then sleeps in the kernel. Only for
// core/worker_pool.cpp.
// Tests: tests/core/threads_test.cpp
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace veldt::workers {

using Word = std::atomic<std::uint32_t>;  // what a futex waits on
static_assert(sizeof(Word) == 4 && Word::is_always_lock_free);

// Sleeps until wake() is called, if the word still has the given value. May return spuriously.
inline void sleep_on(Word& word, std::uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
inline void wake(Word& word) { syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

using Nanoseconds = std::int64_t;
inline Nanoseconds now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Waking a thread costs about 10 us, and it starts after 30; the time between two loops of a step is mostly
// shorter than this limit. Spinning much longer would use up CPU time that other programs leave.
constexpr Nanoseconds kSpin = 40'000;

// True as soon as `done`, false if it was not within the time that spinning is worth.
template <class Done> bool spin_until(const Done& done) {
  if (done()) return true;
  for (const Nanoseconds end = now() + kSpin; now() < end;)
    for (int i = 0; i < 8; ++i) {
      pause();
      if (done()) return true;
    }
  return false;
}

}  // namespace veldt::workers
