// What tells whether data are still the same, without reading all of them.
// Tests: tests/recipe/data_digest_test.cpp, tests/app/sweep_data_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

struct DataDigest {
  std::int64_t files = 0, bytes = 0;
  std::string digest;  // of their names, sizes and contents
  bool operator==(const DataDigest&) const = default;
};

// Of the files that the recipe reads below `folder`: a file, the pictures of a folder and the folders in it,
// or the files of a folder. Contents are read up to 64 MiB in all, or 4 KiB
// of each of very many files: the beginning and the end. Where the data are does not matter, only what is
// there. What is missing counts nothing, so that there may be no files.
DataDigest digest_of_data(const Recipe& recipe, const std::string& folder);

}  // namespace veldt::recipe
