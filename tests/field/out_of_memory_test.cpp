// Every allocation of a whole piece of work fails once: reading a picture, three steps, saving, loading,
// drawing, writing. Each time the answer is an error, nothing is lost or half written, and the work can be
// done again. This program's operator new and posix_memalign, which is where tensors come from, do the
// failing.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <thread>

#include "tests/support/sanitizers.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/core/pool.h"
#include "veldt/field/fit.h"
#include "veldt/io/image.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/backends.h"

namespace {

// Allocations until the one that fails; below zero, none does.
std::atomic<std::int64_t> g_until_failure{-1};
std::atomic<bool> g_for_good{false};  // all that follow fail too

#ifndef VELDT_SMALL_BLOCKS_FROM_HEAP
// nlohmann's destructor of a value allocates, and being noexcept ends the program when it cannot. That is
// that library's; the failure waits for the next allocation then.
bool in_a_destructor_of_json() {
  void* frames[8];
  const int count = backtrace(frames, 8);
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(frames[i], &info) && info.dli_sname && std::strstr(info.dli_sname, "json_value7destroy"))
      return true;
  }
  return false;
}

bool fails_now() {
  std::int64_t left = g_until_failure.load();
  while (left > 0 && !g_until_failure.compare_exchange_weak(left, left - 1)) {
  }
  if (left == 0 && g_for_good) return !in_a_destructor_of_json();
  if (left != 1) return false;
  if (!in_a_destructor_of_json()) return true;
  g_until_failure = 1;
  return false;
}

#endif

}  // namespace

#ifndef VELDT_SMALL_BLOCKS_FROM_HEAP
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (!fails_now())
    if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
extern "C" int posix_memalign(void** p, std::size_t alignment, std::size_t bytes) noexcept {
  *p = fails_now() ? nullptr : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  return *p ? 0 : ENOMEM;
}
#endif

namespace veldt::field {
namespace {

struct Work {
  const test::TempDir dir = test::TempDir::in_memory();

  Work() {
    Rng rng(1);
    io::write_image(dir.path() + "/in.png", rand({9, 7, 1}, rng));
  }

  std::vector<float> run() const {
    const Tensor picture = io::read_image(dir.path() + "/in.png");
    Fitter fitter(picture, plan_for(picture, {.seed = 4, .steps = 3, .width = 8, .depth = 2}));
    fitter.run({}, {});
    fitter.field().save(dir.path() + "/model.safetensors");
    const Tensor drawn = ImageField::load(dir.path() + "/model.safetensors").render(12, 10);
    io::write_image(dir.path() + "/out.png", drawn);
    return drawn.values<float>();
  }

  // Neither temporary files nor torn ones.
  void check_files() const {
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
      const std::string name = entry.path().filename();
      if (name == "model.safetensors")
        EXPECT_NO_THROW(ImageField::load(entry.path()));
      else if (name == "out.png" || name == "in.png")
        EXPECT_NO_THROW(io::read_image(entry.path()));
      else
        ADD_FAILURE() << name << " was left behind";
    }
  }
};

TEST(SlowOutOfMemory, AtAnyAllocationIsACleanErrorAndTheWorkCanBeDoneAgain) {
  if (test::kForeignHeap) GTEST_SKIP() << "the sanitizer has an operator new of its own";
  const Work work;
  const std::vector<float> expected = work.run();
  std::int64_t failures = 0;
  for (std::int64_t n = 1;; n += n < 3000 ? 1 : 37) {
    pool({}).trim();  // or the pool would serve what is to fail
    const std::int64_t blocks = pool({}).stats().blocks_in_use;
    bool done = false;
    g_until_failure = n;
    try {
      work.run();
      done = true;
    } catch (const std::bad_alloc&) {
    } catch (const Error& e) {
      EXPECT_FALSE(e.summary().empty());
    }
    const bool reached = g_until_failure.exchange(-1) == 0;
    ASSERT_EQ(pool({}).stats().blocks_in_use, blocks) << "allocation " << n << " leaks tensors";
    if (!reached) {
      EXPECT_TRUE(done);
      break;
    }
    failures += !done;
    if (n % 50 == 1) {
      work.check_files();
      ASSERT_EQ(work.run(), expected) << "after allocation " << n << " failed";
    }
  }
  EXPECT_GT(failures, 500);
  EXPECT_EQ(work.run(), expected);
}

// Once memory is gone it stays gone: unwinding, and freeing a graph, may not ask for any.
TEST(OutOfMemory, ThatLastsIsACleanErrorInForwardAndBackward) {
  if (test::kForeignHeap) GTEST_SKIP() << "the sanitizer has an operator new of its own";
  Rng rng(2);
  Tensor w = randn({4, 4}, rng).set_requires_grad();
  const Tensor x = randn({3, 4}, rng);
  int failures = 0;
  for (std::int64_t n = 1; n < 200; ++n) {
    bool done = false;
    // A thread of its own, which has no small blocks to fall back on.
    std::thread([&] {
      pool({}).trim();
      g_for_good = true;
      g_until_failure = n;
      try {
        w.zero_grad();
        mean(square(tanh(linear(tanh(linear(x, w)), w)))).backward();
        done = true;
      } catch (const std::bad_alloc&) {
      } catch (const Error&) {
      }
      g_until_failure = -1;
      g_for_good = false;
    }).join();
    failures += !done;
  }
  EXPECT_GT(failures, 30);
  EXPECT_LT(failures, 199) << "the work has an end";
}

}  // namespace
}  // namespace veldt::field
