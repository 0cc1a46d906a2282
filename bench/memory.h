// The most memory that this process has held, for figures beside those of other programs.
#pragma once

#include <fstream>
#include <string>

namespace veldt::bench {

// In MB, as Linux counts it (VmHWM); 0 where it does not say.
inline double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  return 0;
}

}  // namespace veldt::bench
