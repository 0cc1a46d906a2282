// Workers spin for a moment, then sleep. Handles forks and threads that cannot be created.
#include "veldt/core/worker_pool.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "veldt/core/error.h"
#include "veldt/core/spin_wait.h"

namespace veldt::workers {
namespace {

constexpr int kMost = 1023;
constexpr std::size_t kLine = 64;

// --- work -----------------------------------------------------------------------------------------

// The units of one thread: [first, last) in the halves of one word, so that it can take the first while
// another thread takes the last.
class alignas(kLine) Share {
 public:
  void set(std::uint32_t first, std::uint32_t last) {
    both_.store(pack(first, last), std::memory_order_relaxed);
  }
  bool take_first(std::uint32_t& unit) {
    return take([&](std::uint32_t first, std::uint32_t last) {
      unit = first;
      return pack(first + 1, last);
    });
  }
  bool take_last(std::uint32_t& unit) {
    return take([&](std::uint32_t first, std::uint32_t last) {
      unit = last - 1;
      return pack(first, last - 1);
    });
  }

 private:
  static std::uint64_t pack(std::uint32_t first, std::uint32_t last) {
    return std::uint64_t{first} << 32 | last;
  }
  template <class Rest> bool take(const Rest& rest) {
    std::uint64_t seen = both_.load(std::memory_order_relaxed);
    while (true) {
      const auto first = static_cast<std::uint32_t>(seen >> 32), last = static_cast<std::uint32_t>(seen);
      if (first >= last) return false;
      if (both_.compare_exchange_weak(seen, rest(first, last), std::memory_order_relaxed)) return true;
    }
  }

  std::atomic<std::uint64_t> both_{0};
};

class Job;

struct alignas(kLine) Worker {
  std::atomic<Job*> job{nullptr};  // posted, and not yet accepted
  Word asleep{0};
  std::atomic<bool> claimed{true};
  Share share;             // of the job that it was claimed for
  Worker* next = nullptr;  // claimed for the same job
  std::thread thread;
  std::atomic<pid_t> id{0};  // the kernel's
  cpu_set_t processors;      // the processors that it may run on
  std::atomic<bool> kept_off{false};
};

// The kernel prefers to wake a thread on the waking processor rather than on an idle one that its hypervisor
// has descheduled (Linux: vcpu_is_preempted()). Then worker and caller take turns until the load is balanced,
// after milliseconds. So a worker is kept off this processor. It may use all of its processors again as soon
// as it runs, and at the latest before it sleeps: it may have seen and finished its job before this.
// `kept_off` is set last, so that the mask is never restored before it is set.
void keep_off_this_processor(Worker& worker) {
  const pid_t id = worker.id.load(std::memory_order_relaxed);
  const int here = sched_getcpu();
  if (id == 0 || here < 0 || here >= CPU_SETSIZE || worker.kept_off.load(std::memory_order_acquire)) return;
  cpu_set_t others;
  if (sched_getaffinity(id, sizeof others, &others) != 0) return;
  worker.processors = others;
  CPU_CLR(here, &others);
  if (CPU_COUNT(&others) == 0 || CPU_EQUAL(&others, &worker.processors)) return;
  if (sched_setaffinity(id, sizeof others, &others) == 0)
    worker.kept_off.store(true, std::memory_order_release);
}
void run_anywhere(Worker& self) {
  if (self.kept_off.exchange(false, std::memory_order_acquire))
    sched_setaffinity(0, sizeof self.processors, &self.processors);
}

thread_local bool t_inside = false;
std::atomic<int> g_callers{0};
std::atomic<int> g_at_work{0};          // callers and workers
std::atomic<std::uint32_t> g_forks{0};  // number of forks in this process's ancestry

// One call of run(). It is on the caller's stack: once `left_` counts every worker that accepted it, nobody
// may access it.
class Job {
 public:
  Job(std::int64_t n, std::int64_t grain, Body body, int threads)
      : n_(n), grain_(grain), body_(body), threads_(threads) {
    const std::int64_t pieces = (n + grain - 1) / grain;
    unit_ = (pieces + kMostUnits - 1) / kMostUnits;
    units_ = static_cast<std::uint32_t>((pieces + unit_ - 1) / unit_);
  }

  // Distributes the units to the caller and the workers of the list, in this order.
  void share_out(Worker* team, int count) {
    team_ = team;
    const auto bound = [&](int i) {
      return static_cast<std::uint32_t>(std::uint64_t{units_} * i / (count + 1));
    };
    own_.set(0, bound(1));
    int i = 1;
    for (Worker* w = team; w != nullptr; w = w->next, ++i) w->share.set(bound(i), bound(i + 1));
  }

  void work_as_caller() {
    work(own_, [] { return true; });
  }
  void work_as(Worker& worker) {
    g_at_work.fetch_add(1, std::memory_order_relaxed);
    bool counts = true;
    work(worker.share, [&] {
      refuse_a_child();
      counts = counts && !leaves();
      return counts;
    });
    refuse_a_child();
    if (counts) g_at_work.fetch_sub(1, std::memory_order_relaxed);
    if (left_.fetch_add(1, std::memory_order_acq_rel) & kAsleep) wake(left_);
  }

  // Waits until `accepted` workers have left.
  void wait_for(std::uint32_t accepted) {
    const auto all_left = [&] { return (left_.load(std::memory_order_acquire) & ~kAsleep) == accepted; };
    if (spin_until(all_left)) return;
    while (!all_left()) {
      refuse_a_child();
      const std::uint32_t seen = left_.fetch_or(kAsleep, std::memory_order_acq_rel) | kAsleep;
      if ((seen & ~kAsleep) != accepted) sleep_on(left_, seen);
    }
  }

  void rethrow() {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static constexpr std::uint32_t kAsleep = 1u << 31;  // in left_: the caller sleeps
  static constexpr std::int64_t kMostUnits = 1 << 16;

  // A body may fork and call exec() or _exit() in the child, but not continue there. On a worker thread it
  // ends the child.
  void refuse_a_child() const {
    if (g_forks.load(std::memory_order_relaxed) != forks_)
      throw Error("a loop over threads cannot be finished",
                  "one of its bodies called fork(), and the child has none of the other threads",
                  "fork outside of parallel_for");
  }

  // Whether this thread is surplus because other callers have arrived; if so, it no longer counts as working.
  bool leaves() const {
    int at_work = g_at_work.load(std::memory_order_relaxed);
    while (at_work > threads_)
      if (g_at_work.compare_exchange_weak(at_work, at_work - 1, std::memory_order_relaxed)) return true;
    return false;
  }

  template <class Stays> void work(Share& own, const Stays& stays) {
    std::uint32_t unit = 0;
    while (stays() && own.take_first(unit)) run(unit);
    for (Worker* w = team_; w != nullptr; w = w->next)
      while (stays() && w->share.take_last(unit)) run(unit);
    while (stays() && own_.take_last(unit)) run(unit);
  }

  void run(std::uint32_t unit) {
    try {
      const std::int64_t first = unit * unit_ * grain_;
      const std::int64_t last = std::min(n_, first + unit_ * grain_);
      for (std::int64_t i = first; i < last; i += grain_)
        if (!failed_.load(std::memory_order_relaxed)) body_(i, std::min(last, i + grain_));
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
  }

  const std::int64_t n_, grain_;
  const Body body_;
  std::int64_t unit_;  // pieces that are taken at a time
  std::uint32_t units_;
  Worker* team_ = nullptr;
  const int threads_;  // maximum number of working threads of all callers
  const std::uint32_t forks_ = g_forks.load(std::memory_order_relaxed);
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  Share own_;
  alignas(kLine) Word left_{0};
};

Job* const kEnd = reinterpret_cast<Job*>(1);  // posted to end a worker

void serve(Worker& self) {
  t_inside = true;
  self.id.store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  while (true) {
    const auto posted = [&] { return self.job.load(std::memory_order_relaxed) != nullptr; };
    while (!spin_until(posted)) {
      run_anywhere(self);
      self.asleep.store(1, std::memory_order_seq_cst);
      if (self.job.load(std::memory_order_seq_cst) != nullptr) break;
      sleep_on(self.asleep, 1);
    }
    self.asleep.store(0, std::memory_order_relaxed);
    run_anywhere(self);
    Job* const job = self.job.exchange(nullptr, std::memory_order_acq_rel);
    if (job == kEnd) return;
    if (job != nullptr) job->work_as(self);  // else the caller did its work
  }
}

void post(Worker& worker, Job* job) {
  worker.job.store(job, std::memory_order_seq_cst);
  if (worker.asleep.load(std::memory_order_seq_cst) == 0 || worker.asleep.exchange(0) == 0) return;
  if (job != kEnd) keep_off_this_processor(worker);
  wake(worker.asleep);
}

// --- the pool -------------------------------------------------------------------------------------

// Never destroyed: threads sleep on it until the process ends. A worker that was ended keeps its place and
// stays claimed, because other threads may still access it.
struct Pool {
  std::array<std::atomic<Worker*>, kMost> workers{};
  std::atomic<int> made{0};
  std::atomic<bool> short_of{false};  // a thread could not be created: no further attempts
  std::mutex ending;                  // held by keep() to its end, while bodies run
  std::mutex changing;  // guards creating and ending workers, and the members below; held briefly
  std::string why;
  Worker* lost = nullptr;  // of the parent of a fork
};

Pool& pool();

// The child of a fork has one thread, and creates its own workers.
void begin_as_child() {
  Pool& p = pool();
  for (int i = 0; i < kMost; ++i)
    if (Worker* const w = p.workers[static_cast<std::size_t>(i)].exchange(nullptr)) {
      w->next = p.lost;
      p.lost = w;
    }
  p.made = 0;
  p.short_of = false;
  p.why.clear();
  p.changing.unlock();
  new (&p.ending) std::mutex;  // a thread that does not exist in the child may have held it
  g_callers = g_at_work = t_inside ? 1 : 0;
  ++g_forks;
}

Pool& pool() {
  static Pool* const only = [] {
    auto made = std::make_unique<Pool>();
    if (pthread_atfork([] { pool().changing.lock(); }, [] { pool().changing.unlock(); }, &begin_as_child) !=
        0)
      throw std::bad_alloc();
    return made.release();
  }();
  return *only;
}

// Workers block signals, which the program's own threads should get, except for those that their own code may
// raise, which a program's handler could not see otherwise, and a profiler's.
void start(Worker& worker) {
  worker.kept_off = false;
  sigset_t all, before;
  sigfillset(&all);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF})
    sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    worker.thread = std::thread([&worker] { serve(worker); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void make(int wanted) {
  Pool& p = pool();
  const std::lock_guard lock(p.changing);
  for (int i = p.made; i < std::min(wanted, kMost) && !p.short_of; ++i) {
    std::atomic<Worker*>& place = p.workers[static_cast<std::size_t>(i)];
    try {
      if (place.load() == nullptr) place.store(new Worker);
      start(*place.load());
    } catch (const std::exception& e) {
      p.why = str("thread ", i + 2, " of ", wanted + 1, " could not be created: ", e.what());
      p.short_of = true;
      return;
    }
    place.load()->claimed.store(false, std::memory_order_release);
    p.made.store(i + 1, std::memory_order_release);
  }
}

// At most `most` free workers, as a list.
Worker* claim(int most, int& count) {
  Pool& p = pool();
  if (p.made.load(std::memory_order_acquire) < most && !p.short_of.load(std::memory_order_relaxed))
    make(most);
  Worker *first = nullptr, **end = &first;
  const int made = p.made.load(std::memory_order_acquire);
  for (int i = 0; i < made && count < most; ++i) {
    Worker* const w = p.workers[static_cast<std::size_t>(i)].load(std::memory_order_acquire);
    if (w->claimed.load(std::memory_order_relaxed) || w->claimed.exchange(true, std::memory_order_acquire))
      continue;
    *end = w;
    end = &w->next;
    ++count;
  }
  *end = nullptr;
  return first;
}

}  // namespace

void run(std::int64_t n, std::int64_t grain, Body body, int helpers, int threads) {
  Job job(n, grain, body, threads);
  int count = 0;
  Worker* const team = helpers > 0 ? claim(helpers, count) : nullptr;
  job.share_out(team, count);
  for (Worker* w = team; w != nullptr; w = w->next) post(*w, &job);
  job.work_as_caller();
  std::uint32_t accepted = 0;
  for (Worker* w = team; w != nullptr; w = w->next)
    if (w->job.exchange(nullptr, std::memory_order_acq_rel) == nullptr) ++accepted;
  job.wait_for(accepted);
  for (Worker *w = team, *next = nullptr; w != nullptr; w = next) {
    next = w->next;
    w->claimed.store(false, std::memory_order_release);
  }
  job.rethrow();
}

bool inside() { return t_inside; }

Caller::Caller() {
  g_callers.fetch_add(1, std::memory_order_relaxed);
  g_at_work.fetch_add(1, std::memory_order_relaxed);
  t_inside = true;
}
Caller::~Caller() {
  g_callers.fetch_sub(1, std::memory_order_relaxed);
  g_at_work.fetch_sub(1, std::memory_order_relaxed);
  t_inside = false;
}
int Caller::count() { return g_callers.load(std::memory_order_relaxed); }

void keep(int most) {
  Pool& p = pool();
  const std::lock_guard alone(p.ending);
  std::unique_lock lock(p.changing);
  p.short_of = false;
  p.why.clear();
  while (p.made > std::max(0, most)) {
    const int last = p.made - 1;
    Worker* const w = p.workers[static_cast<std::size_t>(last)];
    lock.unlock();  // its bodies may fork, or ask for the shortage
    while (w->claimed.exchange(true, std::memory_order_acquire)) sched_yield();
    lock.lock();
    if (last != p.made - 1) {  // another one was created meanwhile
      w->claimed.store(false, std::memory_order_release);
      continue;
    }
    --p.made;
    post(*w, kEnd);
    w->thread.join();
  }
}

std::string shortage() {
  Pool& p = pool();
  const std::lock_guard lock(p.changing);
  return p.why;
}

}  // namespace veldt::workers
