// Finds the file that holds this very code, and what lies beside it.
#include "veldt/core/beside.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "veldt/core/error.h"

namespace veldt {
namespace {

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

}  // namespace

std::vector<std::string> files_beside_veldt(const std::string& file) {
  std::vector<std::string> paths;
  const std::filesystem::path folder = own_file().parent_path();
  if (!folder.is_absolute()) return paths;
  std::error_code none;
  for (const std::filesystem::path& place :
       {folder / file, folder / ".." / VELDT_LIBDIR / file, folder / ".." / "lib" / file})
    if (std::filesystem::exists(place, none)) paths.push_back(place.lexically_normal().string());
  return paths;
}

OwnLibrary load_own_library(const std::vector<std::string>& paths, const char* entry, const std::string& what,
                            const std::string& or_else) {
  std::string said;
  for (const std::string& path : paths) {
    if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      void* const function = dlsym(handle, entry);
      if (function == nullptr)
        throw DeviceError(what, path + " is not a library of Veldt", "install Veldt's own");
      return {path, function};
    }
    const char* const error = dlerror();
    if (said.empty()) said = error ? error : "no reason was given";
  }
  throw DeviceError(what, "the library could not be loaded: " + said,
                    "install the library that it names" + or_else);
}

}  // namespace veldt
