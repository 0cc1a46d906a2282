// A step that has run once asks for no memory: neither of the pool (optimizer_test.cpp) nor of operator new,
// which this program counts.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/ema.h"

namespace {
std::atomic<std::int64_t> g_allocations{0};
}

// Not inlined, or the compiler takes malloc() and delete for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++g_allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace veldt::optim {
namespace {

TEST(Step, AsksForNoMemoryOnceItHasRun) {
  const Tensor a = zeros({300, 100}).set_requires_grad(), b = zeros({7}).set_requires_grad();
  Adam adam(
      std::vector<Group<AdamOptions>>{{{{"a", a}}, {.clip = {.norm = 1e-3, .value = 10}}}, {{{"b", b}}, {}}});
  Ema ema(adam);
  (sum(a) + sum(b)).backward();
  const auto step = [&] {
    adam.step();
    ema.update();
  };
  step();
  const std::int64_t before = g_allocations;
  step();
  EXPECT_EQ(g_allocations, before);
}

}  // namespace
}  // namespace veldt::optim
