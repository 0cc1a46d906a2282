// A search for races on the emulated device. Kernels compiled with -fsanitize=thread call the functions below
// at each access to memory (here in place of the sanitizer's own library, which knows the threads of the CPU
// alone). For every byte of shared and of device memory it is kept who wrote it last and who read it, between
// which barriers. Two accesses race if one of them writes and no barrier of the block, and no __syncwarp() of
// the warp, lies between them; blocks of one grid have none. Without the flag nothing calls them.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "tests/support/gpu_emulation.h"

namespace veldt::gpu::emulation {
namespace {

enum class Access : std::uint8_t { read, write, atomic };

// An access in 64 bits; 0: none.
class Mark {
 public:
  Mark() = default;
  Mark(const Moment& m, bool atomic)
      : bits_(std::uint64_t{1} << 63 | std::uint64_t{atomic} << 61 |
              std::uint64_t{m.block & 0x1FFFFFu} << 40 | std::uint64_t{m.thread} << 30 |
              std::uint64_t{m.block_barriers & 0x3FFFu} << 16 | (m.warp_barriers & 0xFFFFu)) {}
  bool any() const { return bits_ != 0; }
  bool atomic() const { return bits_ >> 61 & 1; }
  unsigned block() const { return static_cast<unsigned>(bits_ >> 40 & 0x1FFFFF); }
  unsigned thread() const { return static_cast<unsigned>(bits_ >> 30 & 0x3FF); }
  // By several threads of a warp.
  bool shared() const { return bits_ >> 62 & 1; }
  void share() { bits_ |= std::uint64_t{1} << 62; }
  bool same_warp(const Mark& other) const {
    return block() == other.block() && thread() / 32 == other.thread() / 32;
  }

  // Whether nothing orders an access before this one.
  bool meets(const Mark& before, bool in_shared) const {
    if (!before.any()) return false;
    if (block() != before.block()) return !in_shared;  // shared memory is another block's by now
    if (thread() == before.thread() && !before.shared()) return false;
    if ((bits_ ^ before.bits_) >> 16 & 0x3FFF) return false;
    return thread() / 32 != before.thread() / 32 || ((bits_ ^ before.bits_) & 0xFFFF) == 0;
  }

 private:
  std::uint64_t bits_ = 0;
};

// The accesses to a byte. Readers of two warps are kept, which is one more than a race needs.
struct Byte {
  Mark written, read, read_elsewhere;
};

constexpr std::size_t kPage = 4096;
struct Page {
  std::uint64_t grid = 0;
  std::array<Byte, kPage> bytes;
};

Byte& byte_at(std::uintptr_t at) {
  static auto& pages = *new std::vector<std::unique_ptr<Page>>(std::size_t{1} << 18);
  // Addresses of device memory and of a block's shared memory, folded; what has the same place is never alive
  // together for as long as a grid runs unless 1 GB lies between them.
  auto& page = pages[at / kPage % pages.size()];
  if (page == nullptr) page = std::make_unique<Page>();
  if (page->grid != grid_number()) {
    page->bytes.fill({});  // no other array: a page has 98 KB, and a fiber's stack 128
    page->grid = grid_number();
  }
  return page->bytes[at % kPage];
}

void tell(const Mark& before, const Mark& now, const char* what, bool in_shared, const void* caller) {
  Dl_info where{};
  char text[256];
  dladdr(caller, &where);
  std::snprintf(text, sizeof text,
                "a race in %s memory: thread %u of block %u %s what thread %u of block %u %s, at %#lx of %s",
                in_shared ? "shared" : "the device's", now.thread(), now.block(), what, before.thread(),
                before.block(), before.atomic() ? "changes" : "uses without a barrier between them",
                static_cast<unsigned long>(reinterpret_cast<std::uintptr_t>(caller) -
                                           reinterpret_cast<std::uintptr_t>(where.dli_fbase)),
                where.dli_fname == nullptr ? "?" : where.dli_fname);
  report(text);
}

void touch(const void* p, std::size_t bytes, Access access, const void* caller) {
  if (!in_kernel()) return;
  const bool in_shared = is_shared(p);
  if (!in_shared && !owns(p)) return;
  const Mark now(moment(), access == Access::atomic);
  for (std::size_t i = 0; i < bytes; ++i) {
    Byte& byte = byte_at(reinterpret_cast<std::uintptr_t>(p) + i);
    const bool both_atomic = access == Access::atomic && byte.written.atomic();
    if (!both_atomic && now.meets(byte.written, in_shared))
      tell(byte.written, now, access == Access::read ? "reads" : "writes", in_shared, caller);
    if (access == Access::read) {
      if (byte.read.any() && !now.same_warp(byte.read)) byte.read_elsewhere = byte.read;
      const bool together = now.meets(byte.read, in_shared) && now.same_warp(byte.read);
      byte.read = now;
      if (together) byte.read.share();
      continue;
    }
    for (const Mark& read : {byte.read, byte.read_elsewhere})
      if (now.meets(read, in_shared)) tell(read, now, "writes", in_shared, caller);
    byte.written = now;
  }
}

}  // namespace

bool finds_races() {
#ifdef VELDT_GPU_RACES
  return true;
#else
  return false;
#endif
}
void note_atomic(const void* at, std::size_t bytes) {
  if (!finds_races()) return;
  touch(at, bytes, Access::atomic, __builtin_return_address(0));
}

}  // namespace veldt::gpu::emulation

#ifdef VELDT_GPU_RACES
using veldt::gpu::emulation::Access;  // NOLINT: the functions below are this file's other half
using veldt::gpu::emulation::touch;   // NOLINT

// The names are the compiler's.
#define VELDT_HOOKS(size)                                                                                  \
  void __tsan_read##size(void* p) { touch(p, size, Access::read, __builtin_return_address(0)); }           \
  void __tsan_write##size(void* p) { touch(p, size, Access::write, __builtin_return_address(0)); }         \
  void __tsan_unaligned_read##size(void* p) { touch(p, size, Access::read, __builtin_return_address(0)); } \
  void __tsan_unaligned_write##size(void* p) { touch(p, size, Access::write, __builtin_return_address(0)); }

extern "C" {
VELDT_HOOKS(1)
VELDT_HOOKS(2)
VELDT_HOOKS(4)
VELDT_HOOKS(8)
VELDT_HOOKS(16)
void __tsan_read_range(void* p, std::size_t bytes) {
  touch(p, bytes, Access::read, __builtin_return_address(0));
}
void __tsan_write_range(void* p, std::size_t bytes) {
  touch(p, bytes, Access::write, __builtin_return_address(0));
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
// For guards of local statics.
unsigned char __tsan_atomic8_load(const volatile unsigned char* p, int) {
  return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
}
#endif
