// The CUDA backend's library, loaded when somebody first asks for it, and why there is none.
#pragma once

#include <string>
#include <vector>

#include "veldt/core/device_plugin.h"

namespace veldt {

// Where libveldt_cuda.so is, if not where it is looked for: beside the program or library that holds Veldt,
// then in its ../lib, or what an install calls lib. Before its first use.
void set_cuda_library(const std::string& path);

// The library. Throws DeviceError that says why it cannot be used. Its open() does, where there is no such
// device.
const DevicePlugin& cuda_library();

struct CudaReport {
  bool usable = false;
  std::string reason;  // one line; empty if usable
  std::string path;    // of the library, if one was loaded
  std::vector<DeviceFacts> devices;
};
// What there is, without an error. Does not open a device.
CudaReport look_for_cuda();

}  // namespace veldt
