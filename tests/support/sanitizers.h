// Tests that measure or limit memory mean nothing under AddressSanitizer, which needs terabytes of addresses.
#pragma once

#include "veldt/core/small_blocks.h"

namespace veldt::test {

// Programs under a sanitizer have its heap, and cannot bring an operator new of their own to count with.
#ifdef VELDT_SMALL_BLOCKS_FROM_HEAP
inline constexpr bool kForeignHeap = true;
#else
inline constexpr bool kForeignHeap = false;
#endif

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

}  // namespace veldt::test
