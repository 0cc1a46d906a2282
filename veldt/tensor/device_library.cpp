// Finds, loads and checks the libraries of devices.
#include "veldt/tensor/device_library.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "veldt/core/beside.h"
#include "veldt/core/error.h"

namespace veldt {
namespace {

struct Library {
  std::mutex mutex;
  std::string path;  // as asked for, then as found
  const DevicePlugin* plugin = nullptr;
};
Library& library(DeviceKind kind) {
  // Never unloaded: tensors may outlive everything else.
  static auto& libraries = *new std::array<Library, kMostBackends>;
  return libraries[static_cast<std::size_t>(kind)];
}
std::string file_of(DeviceKind kind) { return str("libveldt_", name_of(kind), ".so"); }

std::string refusal_of(DeviceKind kind) { return str("cannot use the device ", name_of(kind)); }
[[noreturn]] void refuse(DeviceKind kind, const std::string& why, const std::string& fix) {
  throw DeviceError(refusal_of(kind), why, fix);
}

const DevicePlugin& load(DeviceKind kind, const std::vector<std::string>& paths, std::string& path) {
  const OwnLibrary library =
      load_own_library(paths, kDevicePluginEntry, refusal_of(kind), ", or use --device cpu");
  path = library.path;
  const DevicePlugin& plugin = *reinterpret_cast<DevicePluginEntry>(library.entry)();
  if (std::strcmp(plugin.version, VELDT_VERSION) != 0 || plugin.waist_digest != kWaistDigest)
    refuse(kind,
           str(path, " belongs to Veldt ", plugin.version, ", and this is another build, ", VELDT_VERSION),
           "install both from one build");
  return plugin;
}

}  // namespace

void set_device_library(DeviceKind kind, const std::string& path) {
  Library& l = library(kind);
  const std::lock_guard lock(l.mutex);
  if (l.plugin)
    throw Error(str("cannot choose another ", file_of(kind)), "one is in use already",
                "choose it before the first use");
  l.path = path.empty() ? path : std::filesystem::absolute(path).string();
}

const DevicePlugin& device_library(DeviceKind kind) {
  if (const auto place = static_cast<std::size_t>(kind); place == 0 || place > kLibraryKinds)
    throw DeviceError(str("there is no library of device kind ", place),
                      str("libraries are for 1 to ", kLibraryKinds),
                      "register a backend of the program's own (register_backend)");
  Library& l = library(kind);
  const std::lock_guard lock(l.mutex);
  if (l.plugin) return *l.plugin;
  const std::vector<std::string> paths =
      l.path.empty() ? files_beside_veldt(file_of(kind)) : std::vector<std::string>{l.path};
  if (paths.empty())
    refuse(kind, str("there is no ", file_of(kind), " beside Veldt"),
           "install it, build Veldt where the compiler of that device is found, or use --device cpu");
  std::string path;
  const DevicePlugin& plugin = load(kind, paths, path);
  l.plugin = &plugin, l.path = path;
  return plugin;
}

std::string link_library(DeviceKind kind) {
  const DevicePlugin& plugin = device_library(kind);
  if (plugin.link_library == nullptr)
    throw DeviceError(str("devices of the kind ", name_of(kind), " have no links"),
                      "their library knows of none",
                      "nothing need be done: what they exchange goes through the memory of the host");
  return plugin.link_library();
}

DeviceReport look_for_devices(DeviceKind kind) {
  DeviceReport report;
  try {
    const DevicePlugin& plugin = device_library(kind);
    report.path = library(kind).path;
    const int count = plugin.device_count();
    for (int i = 0; i < count; ++i) report.devices.push_back(plugin.facts(i));
    report.usable = count > 0;
    if (count == 0) report.reason = "the driver shows no GPU";
  } catch (const Error& e) {
    report.reason = e.why();
  }
  return report;
}

}  // namespace veldt
