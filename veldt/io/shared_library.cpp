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
  if (!library_) fail("it was not found");
}

void* SharedLibrary::symbol(const char* name) const {
  void* found = ::dlsym(library_, name);
  if (!found) fail(str(file_, " has no ", name));
  return found;
}

void SharedLibrary::fail(const std::string& otherwise) const {
  const char* why = ::dlerror();
  throw Error(str("cannot ", purpose_, " on this machine"), why ? std::string(why) : otherwise,
              str("install it (apt-get install ", package_, ")"));
}

}  // namespace veldt::io
