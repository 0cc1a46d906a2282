// The number of threads, and how work is split among them.
#include "veldt/core/threads.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "veldt/core/cores.h"
#include "veldt/core/error.h"
#include "veldt/core/worker_pool.h"

namespace veldt {
namespace {

constexpr int kMostThreads = 1024;
std::atomic<int> g_threads{0};
thread_local bool t_serial = false;

std::optional<int> threads_in(const char* text, const char* end) {
  int n = 0;
  const auto [rest, error] = std::from_chars(text, end, n);
  if (error != std::errc() || rest != end || n < 1 || n > kMostThreads) return std::nullopt;
  return n;
}

int threads_at_first() {
  if (const char* own = std::getenv("VELDT_THREADS"); own != nullptr && *own != '\0') {
    if (const std::optional<int> n = threads_in(own, own + std::strlen(own))) return *n;
    throw ConfigError(str("VELDT_THREADS is \"", own, "\""), "the number of threads must be from 1 to 1024",
                      "set it to a number, or unset it");
  }
  // OpenMP's may be a list, by levels of nesting, and an unreadable one is not Veldt's error to report.
  if (const char* omp = std::getenv("OMP_NUM_THREADS"))
    if (const std::optional<int> n = threads_in(omp, omp + std::strcspn(omp, ","))) return *n;
  return std::min(kMostThreads, cores_of_this_process().usable());
}

}  // namespace

int num_threads() {
  if (t_serial) return 1;
  int n = g_threads.load(std::memory_order_relaxed);
  if (n == 0) {
    const int first = threads_at_first();
    if (g_threads.compare_exchange_strong(n, first, std::memory_order_relaxed)) n = first;
  }
  return n;
}

void set_num_threads(int n) {
  if (n < 1 || n > kMostThreads)
    throw ConfigError(str("cannot use ", n, " threads"), "the number of threads must be from 1 to 1024",
                      str("this process may use ", cores_of_this_process().usable(), " cores"));
  g_threads.store(n, std::memory_order_relaxed);
  if (!workers::inside()) workers::keep(n - 1);
}

std::string thread_shortage() { return workers::shortage(); }

void parallel_for(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(1, grain);
  if (n <= grain) return body(0, n);
  if (threads_here() == 1) {
    for (std::int64_t i = 0; i < n; i += grain) body(i, std::min(n, i + grain));
    return;
  }
  const workers::Caller here;
  const int threads = num_threads();
  const std::int64_t share = threads / workers::Caller::count(), pieces = (n + grain - 1) / grain;
  workers::run(n, grain, body, static_cast<int>(std::min(pieces, share)) - 1, threads);
}

int threads_here() { return workers::inside() ? 1 : num_threads(); }

std::int64_t even_grain(std::int64_t n, std::int64_t most, std::int64_t step) {
  const auto shares = [](std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; };
  const std::int64_t threads = threads_here(), pieces = shares(n, threads * most) * threads;
  return std::max<std::int64_t>(1, shares(shares(n, std::max<std::int64_t>(1, pieces)), step)) * step;
}

SerialScope::SerialScope() : before_(t_serial) { t_serial = true; }
SerialScope::~SerialScope() { t_serial = before_; }

}  // namespace veldt
