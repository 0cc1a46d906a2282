// A shared library that is opened when it is first used, and not linked, so that it is only needed where it
// is used.
// Tests: tests/io/shared_library_test.cpp
#pragma once

#include <string>

namespace veldt::io {

// It stays open until the process ends.
class SharedLibrary {
 public:
  // Throws Error, "cannot <purpose> on this machine", which says to install the package.
  SharedLibrary(std::string file, std::string purpose, std::string package);
  // Throws Error, which says to install a newer one, if there is no function of that name.
  template <class Function> void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::string file_, purpose_, package_;
  void* library_;
};

}  // namespace veldt::io
