// The table of the names of devices.
#include "veldt/core/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <mutex>
#include <string>

#include "veldt/core/error.h"

namespace veldt {
namespace {

// A name is written once, before it is counted, so that readers need no lock.
struct Names {
  std::array<std::string, kMostBackends> names = {"cpu", "cuda"};
  std::atomic<std::size_t> count = 1 + kLibraryKinds;
  std::mutex adding;
};
Names& table() {
  static Names& names = *new Names;  // never destroyed: tensors may outlive everything else
  return names;
}

bool is_word(std::string_view name) {
  return !name.empty() && std::islower(static_cast<unsigned char>(name[0])) != 0 && name.size() <= 32 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
         });
}

}  // namespace

const char* name_of(DeviceKind kind) { return table().names[static_cast<std::size_t>(kind)].c_str(); }

std::size_t device_kinds() { return table().count.load(std::memory_order_acquire); }

std::optional<DeviceKind> device_kind(std::string_view name) {
  for (std::size_t i = 0; i < device_kinds(); ++i)
    if (table().names[i] == name) return static_cast<DeviceKind>(i);
  return std::nullopt;
}

DeviceKind add_device_kind(std::string_view name) {
  const std::lock_guard lock(table().adding);
  const std::string what = str("cannot add a backend called '", name, "'");
  if (!is_word(name) || name == "auto")
    throw ConfigError(what, "a name is a word of up to 32 small letters, digits and '_', and not 'auto'",
                      "call it \"mine\", for example");
  if (device_kind(name)) throw ConfigError(what, "there is one of that name", "choose another name");
  const std::size_t count = device_kinds();
  if (count == kMostBackends)
    throw ConfigError(what, str("a process has ", kMostBackends, " kinds of devices at most"),
                      "add fewer backends");
  table().names[count] = name;
  table().count.store(count + 1, std::memory_order_release);
  return static_cast<DeviceKind>(count);
}

}  // namespace veldt
