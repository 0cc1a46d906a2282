// A run's metrics.csv, without what differs from run to run.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace veldt::test {

// Lines of metrics.csv without the times.
inline std::vector<std::string> measures(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream in(bytes_of(path));
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string kept, field;
    for (int i = 0; std::getline(fields, field, ','); ++i)
      if (i != 4 && i != 5) kept += field + ',';
    lines.push_back(kept);
  }
  return lines;
}

}  // namespace veldt::test
