// The device that holds a tensor's numbers.
// Tests: tests/train/small_backend_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>

namespace veldt {

// An index in the table of names (device.cpp). Kinds after the cpu are in libraries of their own; a program
// can add kinds (register_backend in tensor/backends.h).
enum class DeviceKind : std::uint8_t { cpu, cuda };
inline constexpr std::size_t kLibraryKinds = 1;  // cuda
inline constexpr std::size_t kMostBackends = 4;  // kinds that a process can have

// "cuda"; never freed.
const char* name_of(DeviceKind);
// The kind of that name, if there is one.
std::optional<DeviceKind> device_kind(std::string_view name);
// The current number of kinds.
std::size_t device_kinds();
// Adds a kind. Throws ConfigError for a name that is taken or is not a word of small letters, digits and '_',
// and if the table is full.
DeviceKind add_device_kind(std::string_view name);

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;

  friend bool operator==(const Device&, const Device&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Device& d) {
    out << name_of(d.kind);
    return d.kind == DeviceKind::cpu ? out : out << ':' << d.index;
  }
};

}  // namespace veldt
