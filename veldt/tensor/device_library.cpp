#include "veldt/tensor/device_library.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
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

// The folders where it is looked for, beginning with that of the code that runs now.
std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  Dl_info here;
  std::error_code none;
  if (dladdr(reinterpret_cast<const void*>(&candidates), &here) != 0 && here.dli_fname != nullptr) {
    std::filesystem::path file(here.dli_fname);
    if (!file.is_absolute()) file = std::filesystem::read_symlink("/proc/self/exe", none);
    const std::filesystem::path folder = file.parent_path();
    for (const std::filesystem::path& place :
         {folder / kFile, folder / ".." / VELDT_LIBDIR / kFile, folder / ".." / "lib" / kFile})
      if (std::filesystem::exists(place, none)) paths.push_back(place.lexically_normal().string());
  }
  paths.emplace_back(kFile);
  return paths;
}

[[noreturn]] void refuse(const std::string& why, const std::string& fix) {
  throw DeviceError("cannot use CUDA", why, fix);
}

const DevicePlugin& load(const std::string& path, void* handle) {
  const auto entry = reinterpret_cast<DevicePluginEntry>(dlsym(handle, kDevicePluginEntry));
  if (entry == nullptr) refuse(str(path, " is not a library of Veldt"), "install Veldt's own");
  const DevicePlugin& plugin = entry();
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
  library().path = path;
}

const DevicePlugin& cuda_library() {
  Library& l = library();
  const std::lock_guard lock(l.mutex);
  if (l.plugin) return *l.plugin;
  const std::vector<std::string> paths = l.path.empty() ? candidates() : std::vector<std::string>{l.path};
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
  if (paths.size() == 1 && l.path.empty())
    refuse(str("this installation has no ", kFile), "build Veldt where nvcc is found, or use --device cpu");
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
