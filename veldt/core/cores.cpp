// Reads from /proc and control groups how many processors this process may use.
#include "veldt/core/cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace veldt {
namespace {

// The numbers of a file that holds one or two of them; "max" and a missing file are none.
std::vector<double> numbers_in(const std::string& path) {
  std::ifstream file(path);
  std::vector<double> numbers;
  for (double x = 0; file >> x;) numbers.push_back(x);
  return numbers;
}

// The machine may have more hardware threads than a cpu_set_t has bits, so the set grows until the call
// succeeds.
int count_allowed() {
  for (int most = CPU_SETSIZE; most <= 1 << 20; most *= 2) {
    cpu_set_t* const set = CPU_ALLOC(most);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(most);
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return 1;
}

void keep_smaller(std::optional<double>& least, double quota, double period) {
  if (quota > 0 && period > 0) least = std::min(least.value_or(quota / period), quota / period);
}

}  // namespace

std::vector<std::string> control_groups(const std::string& root, const std::string& controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::vector<std::string> directories;
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/a/b", or "0::/a/b" of version 2
    const std::size_t second = line.find(':'), third = line.find(':', second + 1);
    if (third == std::string::npos) continue;
    const std::string names = "," + line.substr(second + 1, third - second - 1) + ",";
    std::string base = root + "/sys/fs/cgroup";
    if (names != ",," && names.find("," + controller + ",") == std::string::npos) continue;
    if (names != ",,") base += "/" + controller;  // version 1: a tree for each controller
    for (std::string path = line.substr(third + 1);; path.erase(path.find_last_of('/'))) {
      directories.push_back(base + (path == "/" ? "" : path));
      if (path.empty() || path == "/" || path.find('/') == std::string::npos) break;
    }
  }
  return directories;
}

Cores cores_of_this_process(const std::string& root) {
  Cores cores;
  cores.allowed = count_allowed();
  for (const std::string& directory : control_groups(root, "cpu")) {
    const std::vector<double> both = numbers_in(directory + "/cpu.max");  // "150000 100000", or "max 100000"
    if (both.size() == 2) keep_smaller(cores.quota, both[0], both[1]);
    const std::vector<double> quota = numbers_in(directory + "/cpu.cfs_quota_us"),
                              period = numbers_in(directory + "/cpu.cfs_period_us");
    if (quota.size() == 1 && period.size() == 1) keep_smaller(cores.quota, quota[0], period[0]);
  }
  return cores;
}

int Cores::usable() const {
  const int by_quota = quota ? static_cast<int>(std::ceil(std::min(*quota, 1e6))) : allowed;
  return std::max(1, std::min(allowed, by_quota));
}

}  // namespace veldt
