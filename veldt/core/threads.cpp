#include "veldt/core/threads.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "veldt/core/error.h"

namespace veldt {
namespace {
std::atomic<int> g_threads{0};
thread_local bool t_serial = false;
}  // namespace

int num_threads() {
  if (t_serial) return 1;
  int n = g_threads.load(std::memory_order_relaxed);
  if (n == 0) {
    n = omp_get_num_procs();
    g_threads.store(n, std::memory_order_relaxed);
  }
  return n;
}

void set_num_threads(int n) {
  if (n < 1 || n > 1024)
    throw ConfigError(str("cannot use ", n, " threads"), "the number of threads must be from 1 to 1024",
                      str("this process may use ", omp_get_num_procs(), " cores"));
  g_threads.store(n, std::memory_order_relaxed);
  omp_set_num_threads(n);  // oneDNN asks OpenMP
}

void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  const std::int64_t pieces = (n + grain - 1) / grain;
  const int threads = num_threads();
  if (pieces == 1 || threads == 1 || omp_in_parallel()) {
    for (std::int64_t p = 0; p < pieces; ++p) body(p * grain, std::min(n, (p + 1) * grain));
    return;
  }
  // An exception must not leave an OpenMP region: the first one waits outside.
  std::exception_ptr failure;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t p = 0; p < pieces; ++p) {
    try {
      body(p * grain, std::min(n, (p + 1) * grain));
    } catch (...) {
#pragma omp critical(veldt_parallel_for)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

int threads_here() { return omp_in_parallel() ? 1 : num_threads(); }

std::int64_t even_grain(std::int64_t n, std::int64_t most, std::int64_t step) {
  const auto shares = [](std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; };
  const std::int64_t threads = threads_here(), pieces = shares(n, threads * most) * threads;
  return std::max<std::int64_t>(1, shares(shares(n, std::max<std::int64_t>(1, pieces)), step)) * step;
}

SerialScope::SerialScope() : before_(t_serial) { t_serial = true; }
SerialScope::~SerialScope() { t_serial = before_; }

}  // namespace veldt
