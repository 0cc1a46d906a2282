// A backend in a library of its own that is loaded at run time, so that the program starts on a machine
// without its driver. The library exports one function, veldt_device_plugin.
// Tests: tests/tensor/device_library_test.cpp, tests/cuda/runtime_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "veldt/core/backend.h"
#include "veldt/core/convolution.h"
#include "veldt/core/device_links.h"
#include "veldt/core/device_steps.h"
#include "veldt/core/grid.h"
#include "veldt/core/mlp.h"
#include "veldt/core/optimizer_step.h"
#include "veldt/core/pooling.h"

namespace veldt {

// What `veldt doctor` prints about a device.
struct DeviceFacts {
  std::string name, architecture;  // "NVIDIA H200", "sm_90"
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
  int driver_version = 0, runtime_version = 0;  // 1000 major + 10 minor
};

struct DevicePlugin {
  const char* version;         // Veldt's
  std::uint64_t waist_digest;  // kWaistDigest
  // All throw DeviceError or OutOfMemory. open: the backend of a device, the process's only one of its kind.
  int (*device_count)();
  DeviceFacts (*facts)(int index);
  const Backend& (*open)(Device);
  // The library that multiplies large matrices, for `veldt doctor`: "cublasLt 13.1.0". Takes up to a second.
  std::string (*matrix_library)();
  // Messages to devices of other processes: what moves them ("NCCL 2.27.7"), and a set of processes, each
  // with a device, that have been given the same id, which one of them has made. open_links returns when all
  // have called it, after open. All throw DeviceError where nothing can move them, and are null for a device
  // that knows of none.
  std::string (*link_library)() = nullptr;
  std::string (*new_links_id)() = nullptr;
  std::unique_ptr<DeviceLinks> (*open_links)(const std::string& id, int rank, int size) = nullptr;
};

// A hash of the parts that must match between a library and a program that share a Backend: the list of
// entries, and the structs that are passed. Formulas are compared by their names when it is opened
// (tensor/backends.cpp). FNV-1a (Fowler, Noll, Vo).
inline constexpr std::uint64_t kWaistDigest = [] {
  std::uint64_t h = 0xcbf29ce484222325;
  const auto add = [&h](auto value) { h = (h ^ static_cast<std::uint64_t>(value)) * 0x100000001b3; };
  constexpr std::string_view entries =
#define VELDT_ENTRY(name, parameters, ...) #name #parameters #__VA_ARGS__ ";"
#define VELDT_ANSWER(result, name, parameters, ...) #result #name #parameters #__VA_ARGS__ ";"
#include "veldt/core/entries.inc"
      ;
  for (const char c : entries) add(c);
  for (const std::size_t size :
       {sizeof(Backend), sizeof(DevicePlugin), sizeof(DeviceSteps), sizeof(DeviceFacts), sizeof(View),
        sizeof(Scalars), sizeof(Ramp), sizeof(OptimizerStep), sizeof(MlpStep), sizeof(GridLayout),
        sizeof(GridDerivative), sizeof(ConvLayout), sizeof(FrozenConv), sizeof(PoolLayout)})
    add(size);
  add(ReduceOp::norm), add(RandomKind::permutation);  // the last of each: how many there are
  return h;
}();

inline constexpr const char* kDevicePluginEntry = "veldt_device_plugin";
using DevicePluginEntry = const DevicePlugin* (*)();

}  // namespace veldt
