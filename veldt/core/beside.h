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

}  // namespace veldt
