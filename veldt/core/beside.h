// Libraries that belong to Veldt and are opened when they are asked for: CUDA's, MPI's.
// Tests: tests/tensor/device_library_test.cpp
#pragma once

#include <string>
#include <vector>

namespace veldt {

// The places that have a file of that name, as absolute paths: the folder of the program or the library that
// holds Veldt, and the folders of libraries beside it. dlopen would look up a bare name in any folder that
// the environment names.
std::vector<std::string> files_beside_veldt(const std::string& file);

struct OwnLibrary {
  std::string path;
  void* entry = nullptr;  // the function that was asked for
};
// Loads the first of `paths` that can be loaded, for good. Throws DeviceError, which begins with `what` and
// may end with `or_else`, if none can, or if it has no function of that name.
OwnLibrary load_own_library(const std::vector<std::string>& paths, const char* entry, const std::string& what,
                            const std::string& or_else = "");

}  // namespace veldt
