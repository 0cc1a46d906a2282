// The smallest backend that is of use: memory, fill, copy, unary, binary and matmul, a number at a time. What
// a new backend starts with, and the proof that it may.
#pragma once

#include "veldt/core/backend.h"
#include "veldt/core/device.h"

namespace veldt::test {

// Its table, for device 0 of any kind. Its memory is at addresses that no processor maps, so whoever takes it
// for the host's crashes.
const Backend& open_small(Device device);

// The device "small:0", registered by the first call.
Device small_device();

}  // namespace veldt::test
