// Opens a library by its soname; if it is missing, says which package has it.
#include "veldt/io/shared_library.h"

#include <dlfcn.h>

#include <utility>

#include "veldt/core/error.h"

namespace veldt::io {

SharedLibrary::SharedLibrary(std::string file, std::string purpose, std::string package)
    : file_(std::move(file)),
      purpose_(std::move(purpose)),
      package_(std::move(package)),
      library_(::dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_) return;
  const char* why = ::dlerror();
  throw Error(str("cannot ", purpose_, " on this machine"), why ? why : "it was not found",
              str("install it (apt-get install ", package_, ")"));
}

void* SharedLibrary::symbol(const char* name) const {
  void* found = ::dlsym(library_, name);
  if (!found)
    throw Error(str("cannot ", purpose_, " on this machine"),
                str("its ", file_, " has no ", name, ", so it is a version that Veldt does not support"),
                str("install a newer one (apt-get install ", package_, ")"));
  return found;
}

}  // namespace veldt::io
