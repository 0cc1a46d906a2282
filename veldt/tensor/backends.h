// The one list of backends, and the pool of each.
// Tests: tests/tensor/tensor_test.cpp, tests/train/small_backend_test.cpp, tests/cuda/runtime_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "veldt/core/backend.h"
#include "veldt/core/pool.h"

namespace veldt {

// A process computes on one device of a kind. Throws DeviceError for a device that it cannot use.
const Backend& backend(Device device);
Pool& pool(Device device);
// The allocator of new tensors on this thread: the pool, unless a Plan is being recorded.
Memory& memory(Device device);

// The bytes that tensors of the device could take, including those that they hold; 0 if unknown.
std::size_t bytes_for_tensors(Device device);

// Adds the program's own backend; choose_device() knows it as `name` and `name:N`. `open` is called when it
// is first used, and returns the table of that device, which must never be freed; it may compute on the cpu.
// Throws ConfigError (add_device_kind).
DeviceKind register_backend(std::string_view name, const Backend& (*open)(Device));

struct DeviceChoice {
  Device device;
  std::string reason;  // one line for the user: what was chosen and why
};
// "cpu", a kind's name with or without a number ("cuda:1"), or "auto", which is always the cpu; its reason
// then says whether a GPU could be used. Throws ConfigError for an unknown name, DeviceError for a device
// that cannot be used: there is no fallback.
DeviceChoice choose_device(std::string_view name);

// The first CUDA device if it can be used, else the cpu; choose_device("auto") never leaves the cpu, since a
// small network is faster there.
Device cuda_if_available();

}  // namespace veldt
