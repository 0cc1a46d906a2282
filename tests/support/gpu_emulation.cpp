// The threads of the emulated device: a block at a time, one fiber a thread.
#include "tests/support/gpu_emulation.h"

#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace veldt::gpu::emulation {
namespace {

// --- a block of threads

Order order_of_environment() {
  const char* const name = std::getenv("VELDT_GPU_ORDER");
  if (name == nullptr) return Order::forward;
  const std::string_view wanted = name;
  return wanted == "reverse" ? Order::reverse : wanted == "shuffled" ? Order::shuffled : Order::forward;
}
Order g_order = order_of_environment();

// Pseudo-random numbers, good enough to shuffle by.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % n;
  }

 private:
  std::uint64_t state_;
};

constexpr std::size_t kStack = 128 * 1024;

constexpr std::size_t kMostShared = (227 + 48) * 1024;
std::uint64_t g_grids = 0;

enum class State { fresh, ready, at_block_barrier, at_warp_barrier, done };

// A place to go on from. swapcontext() asks the system for the signal mask at each switch, which is most of
// what a kernel with barriers costs here; so on x86-64 the registers that a call has to keep are switched by
// hand. ASan follows swapcontext() alone.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void veldt_switch_stack(void** from, void* to);
asm(R"(
  .text
  .local veldt_switch_stack
  .type veldt_switch_stack, @function
veldt_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

class Context {
 public:
  void begin(char* stack, std::size_t bytes, void (*entry)()) {
    // As a call leaves it: the return address, of which there is none, lies below a multiple of 16.
    auto** top = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(stack + bytes) / 16 * 16 - 8);
    *top = nullptr;
    *--top = reinterpret_cast<void*>(entry);
    at_ = top - 6;
  }
  void switch_to(Context& other) { veldt_switch_stack(&at_, other.at_); }

 private:
  void* at_ = nullptr;
};
#else
class Context {
 public:
  void begin(char* stack, std::size_t bytes, void (*entry)()) {
    getcontext(&at_);
    at_.uc_stack.ss_sp = stack;
    at_.uc_stack.ss_size = bytes;
    at_.uc_link = nullptr;
    makecontext(&at_, entry, 0);
  }
  void switch_to(Context& other) { swapcontext(&at_, &other.at_); }

 private:
  ucontext_t at_;
};
#endif

struct Fiber {
  Context context;
  std::unique_ptr<char[]> stack{new char[kStack]};
};

struct Thread {
  dim3 index;
  State state = State::fresh;
  Fiber* fiber = nullptr;
  bool orders_memory = false;  // the warp's barrier at which it waits
};

struct Block {
  std::function<void()> body;
  dim3 index, size, grid;
  std::vector<Thread> threads;
  std::vector<Slot> slots;
  std::vector<unsigned> order;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> idle;
  // Shared memory: what the launch asked for, then the kernel's arrays.
  std::vector<Slot> memory = std::vector<Slot>(kMostShared / sizeof(Slot));
  std::map<const void*, std::size_t> arrays;
  std::size_t dynamic = 0, used = 0;  // in slots
  unsigned number = 0, barriers = 0;
  std::vector<unsigned> warp_barriers;
  Context scheduler;
  unsigned running = 0;   // the thread
  std::size_t place = 0;  // of that thread in the order
  std::string fault;
};

thread_local Block* t_block = nullptr;
thread_local std::vector<std::unique_ptr<Fiber>>
    t_spare;  // fresh stacks are expensive: most of them are mapped again

// Runs threads that have not begun, one after the other, until one has to wait; a kernel without barriers
// never leaves its first fiber.
void fiber_main() {
  for (;;) {
    Block& b = *t_block;
    b.body();
    b.threads[b.running].state = State::done;
    if (b.place + 1 < b.order.size() && b.threads[b.order[b.place + 1]].state == State::fresh) {
      Fiber* const own = b.threads[b.running].fiber;
      b.running = b.order[++b.place];
      b.threads[b.running].fiber = own;
      continue;
    }
    Fiber* const own = b.threads[b.running].fiber;
    b.idle.push_back(own);
    own->context.switch_to(b.scheduler);
  }
}

void wait(State at) {
  Block& b = *t_block;
  Thread& self = b.threads[b.running];
  self.state = at;
  self.fiber->context.switch_to(b.scheduler);
}

void resume(Block& b) {
  Thread& t = b.threads[b.running];
  if (t.state == State::fresh) {
    if (b.idle.empty()) {
      if (t_spare.empty()) t_spare.push_back(std::make_unique<Fiber>());
      b.fibers.push_back(std::move(t_spare.back()));
      t_spare.pop_back();
      Fiber& made = *b.fibers.back();
      made.context.begin(made.stack.get(), kStack, fiber_main);
      b.idle.push_back(b.fibers.back().get());
    }
    t.fiber = b.idle.back();
    b.idle.pop_back();
  }
  t.state = State::ready;
  b.scheduler.switch_to(t.fiber->context);
}

// Lets the warps go on whose threads have all arrived. Returns whether any did.
bool release_warps(Block& b) {
  bool any = false;
  for (std::size_t begin = 0; begin < b.threads.size(); begin += 32) {
    const std::size_t end = std::min(begin + 32, b.threads.size());
    const auto all = [&](State s) {
      return std::all_of(b.threads.begin() + static_cast<std::ptrdiff_t>(begin),
                         b.threads.begin() + static_cast<std::ptrdiff_t>(end),
                         [s](const Thread& t) { return t.state == s; });
    };
    if (!all(State::at_warp_barrier)) continue;
    b.warp_barriers[begin / 32] += b.threads[begin].orders_memory;
    for (std::size_t i = begin; i < end; ++i) b.threads[i].state = State::ready;
    any = true;
  }
  return any;
}

void run_block(Block& b, std::uint64_t seed) {
  Draws draws(seed);
  const std::size_t n = b.threads.size();
  for (std::size_t i = 0; i < n; ++i) {
    const unsigned linear = static_cast<unsigned>(i);
    b.threads[i] = {dim3(linear % b.size.x, linear / b.size.x % b.size.y, linear / b.size.x / b.size.y),
                    State::fresh, nullptr};
    b.order[i] = g_order == Order::reverse ? static_cast<unsigned>(n - 1 - i) : linear;
  }
  b.arrays.clear();
  b.used = b.dynamic;
  std::memset(b.memory.data(), 0xCD, b.dynamic * sizeof(Slot));
  for (;;) {
    if (g_order == Order::shuffled)
      for (std::size_t i = n; i > 1; --i) std::swap(b.order[i - 1], b.order[draws.below(i)]);
    for (b.place = 0; b.place < n; ++b.place) {
      b.running = b.order[b.place];
      const State s = b.threads[b.running].state;
      if (s == State::fresh || s == State::ready) resume(b);
    }
    if (release_warps(b)) continue;
    const auto count = [&](State s) {
      return std::count_if(b.threads.begin(), b.threads.end(), [s](const Thread& t) { return t.state == s; });
    };
    const auto done = count(State::done), waiting = count(State::at_block_barrier);
    if (done == static_cast<std::ptrdiff_t>(n)) return;
    if (waiting == static_cast<std::ptrdiff_t>(n)) {
      for (Thread& t : b.threads) t.state = State::ready;
      ++b.barriers;
      continue;
    }
    b.fault = waiting + done == static_cast<std::ptrdiff_t>(n)
                  ? "some threads of a block have left, and others wait for them at __syncthreads()"
                  : "threads of a block wait for each other at different barriers";
    b.idle.clear();
    b.fibers.clear();  // those that wait never go on
    return;
  }
}

}  // namespace

void set_order(Order order) { g_order = order; }
Order order() { return g_order; }
const dim3& thread_index() { return t_block->threads[t_block->running].index; }
const dim3& block_index() { return t_block->index; }
const dim3& block_size() { return t_block->size; }
const dim3& grid_size() { return t_block->grid; }
unsigned lane() { return t_block->running % 32; }
Slot& slot_of_lane(unsigned lane) { return t_block->slots[t_block->running / 32 * 32 + lane]; }
void wait_for_block() { wait(State::at_block_barrier); }
void wait_for_warp(bool orders_memory) {
  t_block->threads[t_block->running].orders_memory = orders_memory;
  wait(State::at_warp_barrier);
}

void* shared_array(const void* key, std::size_t bytes) {
  Block& b = *t_block;
  const auto [array, fresh] = b.arrays.try_emplace(key, b.used);
  if (fresh) {
    const std::size_t slots = (bytes + sizeof(Slot) - 1) / sizeof(Slot);
    if ((b.used + slots) * sizeof(Slot) > 227 * 1024 ||
        (b.used - b.dynamic + slots) * sizeof(Slot) > 48 * 1024)
      b.fault = "a block has more shared memory than there is";
    b.used += slots;
    if (b.used > b.memory.size()) std::abort();
    std::memset(b.memory.data() + array->second, 0xCD, slots * sizeof(Slot));
  }
  return b.memory.data() + array->second;
}
void* dynamic_shared() { return t_block->memory.data(); }

bool in_kernel() { return t_block != nullptr; }
Moment moment() {
  const Block& b = *t_block;
  return {b.number, b.running, b.barriers, b.warp_barriers[b.running / 32]};
}
bool is_shared(const void* p) {
  const Slot* const first = t_block->memory.data();
  return p >= first && p < first + t_block->memory.size();
}
void report(const std::string& fault) {
  if (t_block->fault.empty()) t_block->fault = fault;
}
std::uint64_t grid_number() { return g_grids; }

unsigned bound_of([[maybe_unused]] const void* kernel) {
  unsigned bytes = 0;
#if defined(__x86_64__)
  const auto* const code = static_cast<const unsigned char*>(kernel);
  while (bytes < 1024 && *(code - bytes - 1) == 0x90) ++bytes;
#endif
  // One more may fill the gap to the function before; bounds are whole warps.
  return bytes < 32 ? 1024 : bytes / 32 * 32;
}

std::string run_grid(const std::function<void()>& thread, dim3 blocks, dim3 threads, std::size_t shared) {
  Block b;
  b.body = thread;
  b.size = threads;
  b.grid = blocks;
  const std::size_t n = std::size_t{threads.x} * threads.y * threads.z;
  b.threads.resize(n);
  b.order.resize(n);
  b.slots.resize((n + 31) / 32 * 32);
  b.dynamic = (shared + sizeof(Slot) - 1) / sizeof(Slot);
  b.warp_barriers.resize((n + 31) / 32);
  ++g_grids;
  Block* const outer = t_block;
  t_block = &b;
  std::vector<std::uint32_t> order(std::size_t{blocks.x} * blocks.y * blocks.z);
  std::iota(order.begin(), order.end(), 0u);
  if (g_order == Order::reverse) std::reverse(order.begin(), order.end());
  Draws draws(order.size());
  if (g_order == Order::shuffled)
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.below(i)]);
  for (const std::uint32_t i : order) {
    b.number = i;
    b.index = dim3(i % blocks.x, i / blocks.x % blocks.y, i / blocks.x / blocks.y);
    run_block(b, std::uint64_t{i} + 1);
  }
  for (auto& f : b.fibers) t_spare.push_back(std::move(f));
  t_block = outer;
  return b.fault;
}

}  // namespace veldt::gpu::emulation
