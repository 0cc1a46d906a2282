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

// What becomes of the calls of a step between begin() and end().
enum class StepMode : std::uint8_t {
  run,      // they are done, and it is seen which of them take numbers that change from step to step
  capture,  // they are kept, and done by each launch()
  numbers,  // their numbers alone are kept
};

// The most steps that one launch() can do.
inline constexpr std::int64_t kMostSteps = 64;

// Steps that are kept on the device, the same calls each. Between begin() and end() other threads wait for
// the device. All but destroy throw DeviceError or OutOfMemory.
struct DeviceSteps {
  // `result`: one element that a launch can give of each step; may be null.
  void* (*make)(const View* result);
  // First run, of one step. Then capture, once for each number of steps that a launch is to put together, and
  // numbers: each step captured, and each whose numbers were given, is one that the next launch() does.
  void (*begin)(void* steps, StepMode mode);
  void (*step_done)(void* steps);  // after the calls of each step
  // Around calls whose numbers change: those of optimize and random, and where a contiguous copy reads. Other
  // kernels started there are an error.
  void (*changing)(void* steps, bool on);
  // Not complete: the step that has begun is dropped, and a graph that was captured; the steps before it
  // remain for the next launch().
  void (*end)(void* steps, bool complete);
  // Does the steps of which it has the numbers. `results`: gets the result of each; may be null.
  void (*launch)(void* steps, const View* results);
  void (*destroy)(void* steps);
};

// Plug-in and program have to be of one build: they share the layout of Backend.
struct DevicePlugin {
  const char* version;        // Veldt's
  std::size_t backend_bytes;  // sizeof(Backend)
  std::size_t plugin_bytes;   // sizeof(DevicePlugin)
  // All throw DeviceError or OutOfMemory. open: the backend of device `index`, which is then the one of this
  // process.
  int (*device_count)();
  DeviceFacts (*facts)(int index);
  const Backend& (*open)(int index);
  std::size_t (*free_bytes)();  // of the opened device
  // Who multiplies large matrices, for `veldt doctor`: "cublasLt 13.1.0". Takes up to a second.
  std::string (*matrix_library)();
  DeviceSteps steps;
  // What a kernel that finds no memory for itself calls before it tries once more: tensors' pools keep
  // blocks.
  void (*on_full)(void (*make_room)());
};

inline constexpr const char* kDevicePluginEntry = "veldt_device_plugin";
using DevicePluginEntry = const DevicePlugin* (*)();

}  // namespace veldt
