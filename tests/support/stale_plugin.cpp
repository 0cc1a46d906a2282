// A library of a device that was built with another list of entries, for
// tests/tensor/device_library_test.cpp.
#include <cstdlib>

#include "veldt/core/device_plugin.h"

extern "C" __attribute__((visibility("default"))) const veldt::DevicePlugin* veldt_device_plugin() {
  static const veldt::DevicePlugin plugin = {
      .version = VELDT_VERSION,
      .waist_digest = veldt::kWaistDigest + 1,
      .device_count = []() -> int { std::abort(); },  // nobody may call through such a table
      .facts = [](int) -> veldt::DeviceFacts { std::abort(); },
      .open = [](veldt::Device) -> const veldt::Backend& { std::abort(); },
      .matrix_library = []() -> std::string { std::abort(); },
  };
  return &plugin;
}
