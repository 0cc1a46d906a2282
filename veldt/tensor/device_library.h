// The libraries of devices, libveldt_NAME.so, loaded when somebody first asks for one, and why there is none.
// Tests: tests/tensor/device_library_test.cpp, tests/cuda/runtime_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/core/device_plugin.h"

namespace veldt {

// Where the library of that kind is, if not where it is looked for: beside the program or library that holds
// Veldt, then in its ../lib, or what an install calls lib. Before its first use.
void set_device_library(DeviceKind kind, const std::string& path);

// The library. Throws DeviceError that says why it cannot be used. Its open() does, where there is no such
// device.
const DevicePlugin& device_library(DeviceKind kind);

struct DeviceReport {
  bool usable = false;
  std::string reason;  // one line; empty if usable
  std::string path;    // of the library, if one was loaded
  std::vector<DeviceFacts> devices;
};
// What there is, without an error. Does not open a device.
DeviceReport look_for_devices(DeviceKind kind);

}  // namespace veldt
