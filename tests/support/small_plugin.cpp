// The small backend as a library, which the command opens where it looks for the GPU's: for
// tests/app/fallback_test.cpp.
#include "tests/support/small_backend.h"
#include "veldt/core/device_plugin.h"

extern "C" __attribute__((visibility("default"))) const veldt::DevicePlugin* veldt_device_plugin() {
  static const veldt::DevicePlugin plugin = {
      .version = VELDT_VERSION,
      .waist_digest = veldt::kWaistDigest,
      .device_count = [] { return 1; },
      .facts = [](int) { return veldt::DeviceFacts{.name = "small", .architecture = "host"}; },
      .open = veldt::test::open_small,
      .matrix_library = [] { return std::string("loops"); },
  };
  return &plugin;
}
