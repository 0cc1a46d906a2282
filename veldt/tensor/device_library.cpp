#include "veldt/tensor/device_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "veldt/core/error.h"

namespace veldt {
namespace {

constexpr const char* kFile = "libveldt_cuda.so";

struct Library {
  std::mutex mutex;
  std::string path;  // as asked for, then as found
  const DevicePlugin* plugin = nullptr;
};
Library& library() {
  static Library& l = *new Library;  // never unloaded: tensors may outlive everything else
  return l;
}

// The file that holds this code, as the kernel knows it. The name that a program was called by, and the path
// of a library that was relative when it was loaded, may lead to somebody else's folder. Without /proc it is
// what was executed, or where the loader found the library.
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

// The places where it is looked for, those that have it: absolute paths, since dlopen would take a bare name
// from any folder that the environment names.
std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  const std::filesystem::path folder = own_file().parent_path();
  if (!folder.is_absolute()) return paths;
  std::error_code none;
  for (const std::filesystem::path& place :
       {folder / kFile, folder / ".." / VELDT_LIBDIR / kFile, folder / ".." / "lib" / kFile})
    if (std::filesystem::exists(place, none)) paths.push_back(place.lexically_normal().string());
  return paths;
}

[[noreturn]] void refuse(const std::string& why, const std::string& fix) {
  throw DeviceError("cannot use CUDA", why, fix);
}

const DevicePlugin& load(const std::string& path, void* handle) {
  const auto entry = reinterpret_cast<DevicePluginEntry>(dlsym(handle, kDevicePluginEntry));
  if (entry == nullptr) refuse(str(path, " is not a library of Veldt"), "install Veldt's own");
  const DevicePlugin& plugin = *entry();
  if (std::strcmp(plugin.version, VELDT_VERSION) != 0 || plugin.backend_bytes != sizeof(Backend) ||
      plugin.plugin_bytes != sizeof(DevicePlugin))
    refuse(str(path, " is of Veldt ", plugin.version, ", and this is another build, ", VELDT_VERSION),
           "install both from one build");
  return plugin;
}

}  // namespace

void set_cuda_library(const std::string& path) {
  const std::lock_guard lock(library().mutex);
  if (library().plugin)
    throw Error("cannot choose another CUDA library", "one is in use already",
                "choose it before the first use");
  library().path = path.empty() ? path : std::filesystem::absolute(path).string();
}

const DevicePlugin& cuda_library() {
  Library& l = library();
  const std::lock_guard lock(l.mutex);
  if (l.plugin) return *l.plugin;
  const std::vector<std::string> paths = l.path.empty() ? candidates() : std::vector<std::string>{l.path};
  if (paths.empty())
    refuse(str("this installation has no ", kFile), "build Veldt where nvcc is found, or use --device cpu");
  void* handle = nullptr;
  std::string said;
  for (const std::string& path : paths) {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) {
      l.plugin = &load(path, handle);
      l.path = path;
      return *l.plugin;
    }
    const char* error = dlerror();
    if (said.empty()) said = error ? error : "no reason was given";
  }
  refuse(str("the library could not be loaded: ", said), "install what it names, or use --device cpu");
}

CudaReport look_for_cuda() {
  CudaReport report;
  try {
    const DevicePlugin& cuda = cuda_library();
    report.path = library().path;
    const int count = cuda.device_count();
    for (int i = 0; i < count; ++i) report.devices.push_back(cuda.facts(i));
    report.usable = count > 0;
    if (count == 0) report.reason = "the driver shows no GPU";
  } catch (const Error& e) {
    report.reason = e.why();
  }
  return report;
}

}  // namespace veldt
