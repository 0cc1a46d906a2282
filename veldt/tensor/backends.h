// The one list of backends, and the pool of each.
#pragma once

#include <string>
#include <string_view>

#include "veldt/core/backend.h"
#include "veldt/core/pool.h"

namespace veldt {

// Throws DeviceError for a device that this process cannot use.
const Backend& backend(Device device);
Pool& pool(Device device);
// Where new tensors of this thread get their memory: the pool, unless a Plan is being recorded.
Memory& memory(Device device);

// The bytes that tensors of the device could take, those that they hold included; 0 if nobody knows.
std::size_t bytes_for_tensors(Device device);

struct DeviceChoice {
  Device device;
  std::string reason;  // one line for the user: what was chosen and why
};
// "cpu", or "auto" for the best there is. Throws ConfigError for an unknown name, DeviceError for a known one
// that cannot be served: an explicit wish never falls back.
DeviceChoice choose_device(std::string_view name);

}  // namespace veldt
