// A backend in a library of its own that is loaded at run time, so that the program starts on a machine
// without its driver. The library exports one function, veldt_device_plugin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "veldt/core/backend.h"

namespace veldt {

// What `veldt doctor` prints of a device.
struct DeviceFacts {
  std::string name, architecture;  // "NVIDIA H200", "sm_90"
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
  int driver_version = 0, runtime_version = 0;  // 1000 major + 10 minor
};

// Work that is kept on the device: what is put into the stream between begin() and end() is not done, but is
// done by each launch(). Between begin() and end() other threads wait for the device. All but destroy throw
// DeviceError or OutOfMemory.
struct DeviceGraphs {
  void (*begin)();
  void* (*end)();
  void (*launch)(void* graph);
  void (*destroy)(void* graph);
};

// Plug-in and program have to be of one build: they share the layout of Backend.
struct DevicePlugin {
  const char* version;        // Veldt's
  std::size_t backend_bytes;  // sizeof(Backend)
  // All throw DeviceError or OutOfMemory. open: the backend of device `index`, which is then the one of this
  // process.
  int (*device_count)();
  DeviceFacts (*facts)(int index);
  const Backend& (*open)(int index);
  DeviceGraphs graphs;
  // What a kernel that finds no memory for itself calls before it tries once more: tensors' pools keep
  // blocks.
  void (*on_full)(void (*make_room)());
};

inline constexpr const char* kDevicePluginEntry = "veldt_device_plugin";
using DevicePluginEntry = const DevicePlugin& (*)();

}  // namespace veldt
