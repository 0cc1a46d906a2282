// Finds, loads and checks the libraries of devices.
#include "veldt/tensor/device_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

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

// The file that holds this code, according to the kernel. The name by which a program was started, or a
// library's relative path, may point to somebody else's folder. Without /proc it is the executed path, or the
// path where the loader found the library.
std::filesystem::path own_file() {
  const auto here = reinterpret_cast<std::uintptr_t>(&own_file);
  std::ifstream maps("/proc/self/maps");
  if (!maps) {
    Dl_info info{};
    link_map* object = nullptr;  // the program's has no name
    if (dladdr1(reinterpret_cast<const void*>(&own_file), &info, reinterpret_cast<void**>(&object),
                RTLD_DL_LINKMAP) == 0)
      return {};
    if (*object->l_name != '\0') return object->l_name;
    const auto* const executed = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    return executed ? executed : "";
  }
  for (std::string line; std::getline(maps, line);) {  // begin-end permissions offset device inode path
    std::uintptr_t begin = 0, end = 0;
    int path = 0;
    const char* const form = "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n";
    if (std::sscanf(line.c_str(), form, &begin, &end, &path) == 2 && begin <= here && here < end)
      return line.substr(static_cast<std::size_t>(path));
  }
  return {};
}

// The searched places that have it, as absolute paths: dlopen would look up a bare name in any folder that
// the environment names.
std::vector<std::string> candidates(const std::string& file) {
  std::vector<std::string> paths;
  const std::filesystem::path folder = own_file().parent_path();
  if (!folder.is_absolute()) return paths;
  std::error_code none;
  for (const std::filesystem::path& place :
       {folder / file, folder / ".." / VELDT_LIBDIR / file, folder / ".." / "lib" / file})
    if (std::filesystem::exists(place, none)) paths.push_back(place.lexically_normal().string());
  return paths;
}

[[noreturn]] void refuse(DeviceKind kind, const std::string& why, const std::string& fix) {
  throw DeviceError(str("cannot use the device ", name_of(kind)), why, fix);
}

const DevicePlugin& load(DeviceKind kind, const std::string& path, void* handle) {
  const auto entry = reinterpret_cast<DevicePluginEntry>(dlsym(handle, kDevicePluginEntry));
  if (entry == nullptr) refuse(kind, str(path, " is not a library of Veldt"), "install Veldt's own");
  const DevicePlugin& plugin = *entry();
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
      l.path.empty() ? candidates(file_of(kind)) : std::vector<std::string>{l.path};
  if (paths.empty())
    refuse(kind, str("there is no ", file_of(kind), " beside Veldt"),
           "install it, build Veldt where the compiler of that device is found, or use --device cpu");
  std::string said;
  for (const std::string& path : paths) {
    if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      l.plugin = &load(kind, path, handle);
      l.path = path;
      return *l.plugin;
    }
    const char* error = dlerror();
    if (said.empty()) said = error ? error : "no reason was given";
  }
  refuse(kind, str("the library could not be loaded: ", said),
         "install the library that it names, or use --device cpu");
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
