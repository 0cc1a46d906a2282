// Where a tensor's numbers live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>

namespace veldt {

enum class DeviceKind : std::uint8_t { cpu, cuda };
inline constexpr std::size_t kMostBackends = 4;  // kinds that a process can have

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;

  friend bool operator==(const Device&, const Device&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Device& d) {
    if (d.kind == DeviceKind::cpu) return out << "cpu";
    return out << "cuda:" << d.index;
  }
};

}  // namespace veldt
