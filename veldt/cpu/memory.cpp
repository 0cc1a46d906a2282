// Host memory for tensors: aligned to a cache line, and to huge pages if a block is large enough to benefit
// (a first touch costs 6 to 8 us for each 4 KB page).
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "veldt/core/error.h"
#include "veldt/cpu/kernels.h"

namespace veldt::cpu {
namespace {
constexpr std::size_t kHugePage = std::size_t{2} << 20;
}

void* allocate(std::size_t bytes) {
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : 64;
  void* p = nullptr;
  if (posix_memalign(&p, alignment, bytes) != 0)
    throw OutOfMemory(str("cannot allocate ", bytes, " bytes on the cpu"),
                      "the system has no memory left for it", "use a smaller batch, network or picture");
  if (alignment == kHugePage) madvise(p, bytes, MADV_HUGEPAGE);  // advice: a refusal costs speed only
  return p;
}

void deallocate(void* p, std::size_t) { std::free(p); }

void upload(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void download(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void synchronize() {}

}  // namespace veldt::cpu
