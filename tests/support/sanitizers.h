// Tests that measure or limit memory mean nothing under AddressSanitizer, which needs terabytes of addresses.
#pragma once

namespace veldt::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

}  // namespace veldt::test
