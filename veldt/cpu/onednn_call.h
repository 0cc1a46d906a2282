// What calls of oneDNN have in common. For files that know it is built in.
#pragma once

#include <dnnl.hpp>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"

namespace veldt::cpu::onednn {

// True if oneDNN did the work, false if it says that it has no such kernel. Any other failure is an Error: a
// quiet switch to Veldt's own kernel would change the bits. `describe` gives "oneDNN cannot ..".
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

// Room of this thread, at the start of a cache line, shared by all primitives; it grows and stays.
inline char* scratch(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  thread_local std::vector<char> held;
  if (held.size() < bytes + kLine) held.resize(bytes + kLine);
  return held.data() + (kLine - reinterpret_cast<std::uintptr_t>(held.data()) % kLine);
}

// Tells OpenMP, which keeps the number for each thread of the program apart, how many threads a call from
// here gets, and gives it back. oneDNN cuts the work for so many when it builds a primitive, and if one that
// was built for two runs on one, as within a parallel loop, it may wait for the other for ever.
// `small`: work that is not worth sharing out.
inline int use_threads(bool small = false) {
  const int threads = small ? 1 : threads_here();
  if (omp_get_max_threads() != threads) omp_set_num_threads(threads);
  return threads;
}

// The primitive for `key`, whose class has key() and is built from one. Each thread keeps the last few it
// used, most recent first: no lock, and a network's layers come round again in every step.
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
