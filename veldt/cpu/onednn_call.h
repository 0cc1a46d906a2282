// The common parts of calls of oneDNN, and the differences of its releases 2 and 3. Only for builds with
// oneDNN.
// Tests: tests/cpu/matmul_test.cpp, tests/cpu/convolution_test.cpp
#pragma once

#include <dlfcn.h>

#include <dnnl.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "veldt/core/error.h"

namespace veldt::cpu::onednn {

// True if oneDNN did the work, false if it reports that it has no such kernel. Any other failure is an Error:
// a silent switch to Veldt's own kernel would change the bits. `describe` returns "oneDNN cannot ..".
template <class Describe> bool done(dnnl_status_t status, const Describe& describe) {
  if (status == dnnl_success) return true;
  if (status == dnnl_unimplemented) return false;
  const std::string what = describe();
  if (status == dnnl_out_of_memory)
    throw OutOfMemory(what, "it found no memory for it", "use a smaller batch or a smaller network");
  throw Error(what, str("it failed with status ", static_cast<int>(status)),
              "report it, and build with -DVELDT_ONEDNN=OFF until then");
}

inline dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

inline dnnl::stream& stream() {
  thread_local dnnl::stream own(engine());
  return own;
}

// The description of a Primitive: `what` is its operation, `hint` the forward pass's description if it is a
// backward one. oneDNN 2 needs `what` as a struct, which oneDNN 3 does not have.
template <class Primitive, class... What, class... Hint>
typename Primitive::primitive_desc plan_of(const dnnl::primitive_attr& attributes,
                                           const std::tuple<What...>& what, const Hint&... hint) {
  using Plan = typename Primitive::primitive_desc;
  return std::apply(
      [&](const What&... w) {
        if constexpr (requires { typename Primitive::desc; })
          return Plan(typename Primitive::desc(w...), attributes, engine(), hint...);
        else
          return Plan(engine(), w..., hint..., attributes);
      },
      what);
}

// Adds a function of each element to what follows a primitive's own work; oneDNN 2 wants its scale too.
inline void append(dnnl::post_ops& after, dnnl::algorithm function, float alpha, float beta) {
  const auto add = [=](auto& ops) {
    if constexpr (requires { ops.append_eltwise(1.0F, function, alpha, beta); })
      ops.append_eltwise(1.0F, function, alpha, beta);
    else
      ops.append_eltwise(function, alpha, beta);
  };
  add(after);
}

// Makes `memory` refer to `data`. oneDNN 2 may fill the layout's padding, on this thread's stream.
template <class Memory> void point(const Memory& memory, void* data) {
  if constexpr (requires { memory.set_data_handle(data, stream()); })
    memory.set_data_handle(data, stream());
  else
    memory.set_data_handle(data);
}

// Memory of this thread, aligned to a cache line, shared by all primitives; it only grows.
inline char* scratch(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  thread_local std::vector<char> held;
  if (held.size() < bytes + kLine) held.resize(bytes + kLine);
  return held.data() + (kLine - reinterpret_cast<std::uintptr_t>(held.data()) % kLine);
}

// While one exists, oneDNN only works on this thread, because Veldt's own threads split the work. Debian's
// oneDNN asks OpenMP for the number of threads, which OpenMP stores for each thread of the program; the
// caller's number is restored. A oneDNN that was built without OpenMP is serial, or uses the arena of this
// thread in Intel's TBB.
class OneThread {
 public:
  OneThread() : before_(most_ ? most_() : 1) {
    if (before_ != 1 && set_) set_(1);
  }
  ~OneThread() {
    if (before_ != 1 && set_) set_(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  template <class Function> static Function find(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
  inline static int (*const most_)() = find<int (*)()>("omp_get_max_threads");
  inline static void (*const set_)(int) = find<void (*)(int)>("omp_set_num_threads");
  int before_;
};

// The primitive for `key`, whose class has key() and is built from one. Each thread keeps the last few it
// used, most recent first: this needs no lock, and a network's layers repeat in every step.
template <class Primitive, class Key> Primitive& primitive_for(const Key& key) {
  constexpr std::size_t kKept = 64;
  thread_local std::vector<Primitive> kept;
  auto found = std::find_if(kept.begin(), kept.end(), [&](const Primitive& p) { return p.key() == key; });
  if (found == kept.end()) {
    if (kept.size() == kKept) kept.pop_back();
    found = kept.emplace(kept.end(), key);
  }
  std::rotate(kept.begin(), found, found + 1);
  return kept.front();
}

}  // namespace veldt::cpu::onednn
