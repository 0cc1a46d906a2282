// The libraries of devices, libveldt_NAME.so, loaded when one is first needed, and the reason if there is
// none.
// Tests: tests/tensor/device_library_test.cpp, tests/cuda/runtime_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/core/device_plugin.h"

namespace veldt {

// Sets the path of that kind's library, instead of the usual places: beside the program or library that holds
// Veldt, then in its ../lib, or the install's lib folder. Call before its first use.
void set_device_library(DeviceKind kind, const std::string& path);

// The library. Throws DeviceError with the reason if it cannot be used. If there is no such device, its
// open() throws.
const DevicePlugin& device_library(DeviceKind kind);

// What moves sums from this kind of device to those of other processes, such as "NCCL 2.27.7". Throws
// DeviceError if it is the memory of the host.
std::string link_library(DeviceKind kind);

struct DeviceReport {
  bool usable = false;
  std::string reason;  // one line; empty if usable
  std::string path;    // of the library, if one was loaded
  std::vector<DeviceFacts> devices;
};
// Reports the devices without throwing. Does not open a device.
DeviceReport look_for_devices(DeviceKind kind);

}  // namespace veldt
