// The parallel loop covers everything once, and cuts it the same way on any number of threads.
#include "veldt/core/threads.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/busy_processes.h"
#include "tests/support/child.h"
#include "tests/support/sanitizers.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/cores.h"
#include "veldt/core/error.h"

namespace veldt {
namespace {

using Pieces = std::vector<std::pair<std::int64_t, std::int64_t>>;

Pieces pieces_of(std::int64_t n, std::int64_t grain) {
  Pieces pieces;
  std::mutex mutex;
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    std::lock_guard lock(mutex);
    pieces.emplace_back(begin, end);
  });
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

class ParallelFor : public testing::Test {
 protected:
  const int before_ = num_threads();
  const test::ThreadsScope threads_;
};

TEST_F(ParallelFor, CutsByGrainAlone) {
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(pieces_of(10, 4), (Pieces{{0, 4}, {4, 8}, {8, 10}}));
    EXPECT_EQ(pieces_of(8, 4), (Pieces{{0, 4}, {4, 8}}));
    EXPECT_EQ(pieces_of(3, 100), (Pieces{{0, 3}}));
  }
}

TEST_F(ParallelFor, OfNothingCallsNothing) {
  EXPECT_TRUE(pieces_of(0, 4).empty());
  EXPECT_TRUE(pieces_of(-3, 4).empty());
}

TEST_F(ParallelFor, TakesAGrainBelowOneForOne) { EXPECT_EQ(pieces_of(2, 0), (Pieces{{0, 1}, {1, 2}})); }

TEST_F(ParallelFor, RunsInsideItself) {
  set_num_threads(3);
  std::atomic<std::int64_t> sum = 0;
  parallel_for(10, 1, [&](std::int64_t i, std::int64_t) {
    parallel_for(10, 3, [&](std::int64_t b, std::int64_t e) {
      for (std::int64_t j = b; j < e; ++j) sum += i * 10 + j;
    });
  });
  EXPECT_EQ(sum, 99 * 100 / 2);
}

TEST_F(ParallelFor, NumThreadsIsWhatWasSet) {
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3);
}

TEST_F(ParallelFor, RefusesNumbersOfThreadsThatMakeNoSense) {
  EXPECT_THROW(set_num_threads(0), ConfigError);
  EXPECT_THROW(set_num_threads(-1), ConfigError);
  EXPECT_THROW(set_num_threads(1025), ConfigError);
  EXPECT_EQ(num_threads(), before_);
}

TEST_F(ParallelFor, ThrowsWhatItsBodyThrows) {
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    EXPECT_THROW(parallel_for(8, 1, [](std::int64_t, std::int64_t) { throw std::bad_alloc(); }),
                 std::bad_alloc);
  }
}

TEST_F(ParallelFor, DoesEachPieceOnceOnMoreThreadsThanThereAreCores) {
  set_num_threads(16);
  std::vector<std::atomic<int>> done(5000);
  for (int round = 0; round < 200; ++round)
    parallel_for(5000, 3, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++done[static_cast<std::size_t>(i)];
    });
  EXPECT_TRUE(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 200; }));
}

TEST_F(ParallelFor, TakesMorePiecesThanThereAreNumbersOfThirtyTwoBits) {
  set_num_threads(3);
  std::atomic<std::int64_t> pieces = 0, sum = 0;
  constexpr std::int64_t kGrain = std::int64_t{1} << 40, kPieces = 100'003;
  parallel_for(kGrain * kPieces - 5, kGrain, [&](std::int64_t begin, std::int64_t end) {
    ++pieces;
    sum += (end - begin) / (kGrain / 8);
  });
  EXPECT_EQ(pieces, kPieces);
  EXPECT_EQ(sum, 8 * kPieces - 1);
}

TEST_F(ParallelFor, ServesCallersAtTheSameTime) {
  set_num_threads(4);
  std::atomic<std::int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 6; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round)
        parallel_for(100, 7, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(sum, 6 * 300 * 100);
}

// The threads of a loop and the callers themselves, and not as many as callers times threads.
TEST_F(ParallelFor, OfManyCallersDoesNotStartMoreThanThereMayBe) {
  set_num_threads(4);
  std::atomic<int> now = 0, most = 0;
  const auto body = [&](std::int64_t, std::int64_t) {
    const int here = ++now;
    for (int seen = most; here > seen && !most.compare_exchange_weak(seen, here);) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    --now;
  };
  std::vector<std::thread> callers;
  for (int c = 0; c < 5; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) parallel_for(12, 1, body);
    });
  for (std::thread& t : callers) t.join();
  EXPECT_LE(most, 4 - 1 + 5);
}

// Once it has stayed the same for 20 ms: a thread that was joined is listed until the system, or an emulator,
// has done away with it.
std::int64_t threads_of_this_process() {
  const auto listed = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  std::int64_t count = listed();
  for (int same = 0; same < 10; ++same) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::int64_t now = listed();
    if (now != count) same = 0;
    count = now;
  }
  return count;
}

TEST_F(ParallelFor, KeepsNoThreadsBeyondWhatWasSet) {
  set_num_threads(1);
  const std::int64_t before = threads_of_this_process();
  set_num_threads(6);
  pieces_of(100, 1);
  EXPECT_EQ(threads_of_this_process(), before + 5);
  set_num_threads(3);
  EXPECT_EQ(threads_of_this_process(), before + 2);
  set_num_threads(1);
  EXPECT_EQ(threads_of_this_process(), before);
  set_num_threads(4);
  EXPECT_EQ(pieces_of(10, 4).size(), 3u);
}

TEST_F(ParallelFor, LeavesOutWhatHasNotBegunWhenABodyThrows) {
  set_num_threads(2);
  std::atomic<int> done = 0;
  EXPECT_THROW(parallel_for(1000, 1,
                            [&](std::int64_t i, std::int64_t) {
                              if (i == 0) throw std::bad_alloc();
                              std::this_thread::sleep_for(std::chrono::microseconds(100));
                              ++done;
                            }),
               std::bad_alloc);
  EXPECT_LT(done, 900);
  EXPECT_EQ(pieces_of(8, 4).size(), 2u);
}

TEST_F(ParallelFor, WorksInTheChildOfAFork) {
  set_num_threads(3);
  ASSERT_EQ(pieces_of(100, 1).size(), 100u);  // so that there are threads to lose
  EXPECT_EQ(test::in_child([] {
              std::atomic<int> waited_for = 0;  // two pieces that wait for each other: the child has threads
              parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
                for (++waited_for; waited_for < 2;) std::this_thread::yield();
              });
              return pieces_of(100, 1).size() == 100 ? 7 : 8;
            }),
            7);
  EXPECT_EQ(pieces_of(100, 1).size(), 100u);
}

TEST_F(ParallelFor, SaysWhyTheChildOfAForkWithinABodyCannotGoOn) {
  set_num_threads(2);
  const int status = test::in_child([] {
    const pid_t parent = getpid();
    std::atomic<int> inside = 0;
    pid_t child = -1;
    try {
      parallel_for(2, 1, [&](std::int64_t i, std::int64_t) {
        for (++inside; inside < 2;) std::this_thread::yield();  // both threads have a piece
        if (i == 0) child = fork();
        if (i == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      });
    } catch (const Error& error) {
      _exit(getpid() != parent && error.summary() == "a loop over threads cannot be finished" ? 7 : 8);
    }
    if (getpid() != parent) _exit(9);
    int of_child = 0;
    waitpid(child, &of_child, 0);
    return WIFEXITED(of_child) ? WEXITSTATUS(of_child) : 10;
  });
  EXPECT_EQ(status, 7);
}

// On a worker nobody could catch the exception, so the child ends instead of sleeping forever.
TEST_F(ParallelFor, EndsTheChildOfAForkThatAWorkerGoesOnIn) {
  set_num_threads(2);
  const int status = test::in_child([] {
    std::atomic<int> inside = 0;
    std::atomic<pid_t> child = -1;
    parallel_for(2, 1, [&, caller = std::this_thread::get_id()](std::int64_t, std::int64_t) {
      for (++inside; inside < 2;) std::this_thread::yield();
      if (std::this_thread::get_id() == caller) return;
      const pid_t made = fork();
      if (made == 0)
        close(STDERR_FILENO);  // of std::terminate
      else
        child = made;
    });
    int of_child = 0;
    for (int i = 0; i < 1000 && waitpid(child, &of_child, WNOHANG) == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    kill(child, SIGKILL);
    return WIFSIGNALED(of_child) && WTERMSIG(of_child) == SIGABRT ? 7 : 8;
  });
  EXPECT_EQ(status, 7);
}

// The number of processors that each other thread of this process may run on.
std::vector<int> processors_of_the_others() {
  std::vector<int> counts;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t id = std::stoi(task.path().filename());
    cpu_set_t set;
    if (id != getpid() && sched_getaffinity(id, sizeof set, &set) == 0) counts.push_back(CPU_COUNT(&set));
  }
  return counts;
}

// Workers are woken on another processor than their caller's, and must not be kept there.
TEST_F(ParallelFor, LeavesItsThreadsAllProcessors) {
  const int usable = cores_of_this_process().allowed;
  if (usable < 2) GTEST_SKIP() << "there is one processor";
  set_num_threads(1);
  set_num_threads(2);
  const std::vector<int> before = processors_of_the_others();
  for (int i = 0; i < 300; ++i) {  // so short that the caller is done before the worker has woken
    parallel_for(2, 1, [](std::int64_t, std::int64_t) {});
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::vector<int> after = processors_of_the_others();
  ASSERT_EQ(after.size(), before.size() + 1);
  for (const int count : after) EXPECT_EQ(count, usable);
}

// A loop of another caller takes its thread, and not all of them.
TEST_F(ParallelFor, KeepsItsThreadsWhenAnotherCallerComes) {
  set_num_threads(8);
  std::atomic<bool> came = false;
  std::thread other;
  std::mutex mutex;
  std::vector<std::thread::id> after;
  parallel_for(800, 1, [&](std::int64_t i, std::int64_t) {
    if (i == 0)
      other = std::thread([&] {
        parallel_for(2, 1, [](std::int64_t, std::int64_t) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        });
        came = true;
      });
    if (came) {
      const std::lock_guard lock(mutex);
      after.push_back(std::this_thread::get_id());
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  });
  other.join();
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  EXPECT_GE(after.size(), 5u);
}

TEST_F(ParallelFor, LeavesAFaultOfABodyToTheProgramsHandler) {
  set_num_threads(2);
  std::atomic<int> inside = 0;
  parallel_for(2, 1, [&, caller = std::this_thread::get_id()](std::int64_t, std::int64_t) {
    for (++inside; inside < 2;) std::this_thread::yield();
    if (std::this_thread::get_id() == caller) return;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0);
    EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
  });
}

// Ending the threads waits for their work, which asks why there are few.
TEST_F(ParallelFor, EndsThreadsWhoseWorkAsksForTheShortage) {
  set_num_threads(2);
  std::atomic<int> inside = 0;
  std::thread ends;
  parallel_for(2, 1, [&, caller = std::this_thread::get_id()](std::int64_t, std::int64_t) {
    for (++inside; inside < 2;) std::this_thread::yield();
    if (std::this_thread::get_id() == caller) {
      ends = std::thread([] { set_num_threads(1); });
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it waits by now
      EXPECT_EQ(thread_shortage(), "");
    }
  });
  ends.join();
}

TEST_F(ParallelFor, GoesOnWithFewerThreadsWhereTheSystemMakesNoMore) {
  if (test::kForeignHeap) GTEST_SKIP() << "a sanitizer needs all address space";
  const int status = test::in_child([] {
    set_num_threads(200);
    const rlimit few{256 << 20, 256 << 20};  // of address space; a thread takes 8 MB of it for its stack
    setrlimit(RLIMIT_AS, &few);
    rlimit now{};
    getrlimit(RLIMIT_AS, &now);
    if (now.rlim_cur != few.rlim_cur) return 77;
    if (pieces_of(1000, 1).size() != 1000) return 8;
    if (thread_shortage().find("of 200 could not be created") == std::string::npos) return 9;
    set_num_threads(2);  // asks again
    return thread_shortage().empty() && pieces_of(1000, 1).size() == 1000 ? 7 : 10;
  });
  if (status == 77)
    GTEST_SKIP() << "the address space cannot be limited (qemu says that it did, and does not)";
  EXPECT_EQ(status, 7);
}

// Two continuous loops, on as many cores as this test has: with threads that only spin they would take a
// hundred times as long (libgomp's did).
using SlowParallelFor = ParallelFor;
TEST_F(SlowParallelFor, BesideBusyProcessesTakesAFewTimesAsLongAtMost) {
  set_num_threads(2);
  const auto loops = [] {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 4000; ++i)
      parallel_for(2, 1, [](std::int64_t, std::int64_t) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(30);
        while (std::chrono::steady_clock::now() < until) {
        }
      });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double best = 1e9;
  for (int attempt = 0; attempt < 3 && best > 8; ++attempt) {
    const double alone = loops();
    const test::BusyProcesses busy(static_cast<std::size_t>(cores_of_this_process().usable()));
    best = std::min(best, loops() / alone);
  }
  EXPECT_LT(best, 8);
}

TEST(Cores, AreThoseOfTheAffinityMask) {
  const int status = test::in_child([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    return cores_of_this_process().allowed == 1 ? 7 : 8;
  });
  EXPECT_EQ(status, 7);
}

TEST(Cores, OfAQuotaAreRoundedUp) {
  EXPECT_EQ((Cores{.allowed = 8, .quota = 1.5}.usable()), 2);
  EXPECT_EQ((Cores{.allowed = 8, .quota = 0.2}.usable()), 1);
  EXPECT_EQ((Cores{.allowed = 2, .quota = 64}.usable()), 2);
  EXPECT_EQ((Cores{.allowed = 4, .quota = std::nullopt}.usable()), 4);
}

}  // namespace
}  // namespace veldt
