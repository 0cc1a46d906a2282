// Read from Linux's /proc, /sys and control groups of both versions.
#include "veldt/app/machine.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "veldt/core/cores.h"

namespace veldt::app {
namespace {

// The first line, or nothing.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value of "MemTotal:  123 kB" in bytes; 0 if it is not there.
std::int64_t memory_line(const std::string& root, const std::string& name) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":")) return std::strtoll(line.c_str() + name.size() + 1, nullptr, 10) * 1024;
  return 0;
}

void read_processor(const std::string& root, Machine& machine) {
  std::ifstream file(root + "/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) machine.processor = value;
    if (line.starts_with("cpu MHz"))
      machine.gigahertz = std::max(machine.gigahertz, std::strtod(value.c_str(), nullptr) / 1000);
  }
}

void count_cores(const std::string& root, Machine& machine) {
  const Cores here = cores_of_this_process(root);
  machine.cpu_quota = here.quota;
  machine.allowed = here.allowed;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return;
  std::set<std::string> cores;  // by the list of hardware threads that share one
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set))
      cores.insert(
          first_line("/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/thread_siblings_list"));
  machine.cores = cores.count("") != 0 ? machine.allowed : static_cast<int>(cores.size());
}

void read_memory_groups(const std::string& root, Machine& machine) {
  for (const std::string& directory : control_groups(root, "memory"))
    for (const char* name : {"/memory.max", "/memory.limit_in_bytes"}) {
      const std::int64_t limit = std::strtoll(first_line(directory + name).c_str(), nullptr, 10);
      const bool limits = limit > 0 && (machine.memory == 0 || limit < machine.memory);
      if (limits) machine.memory_limit = std::min(machine.memory_limit.value_or(limit), limit);
    }
}

}  // namespace

Machine this_machine(const std::string& root) {
  Machine machine;
  read_processor(root, machine);
  count_cores(root, machine);
  machine.memory = memory_line(root, "MemTotal");
  machine.memory_free = memory_line(root, "MemAvailable");
  read_memory_groups(root, machine);
  return machine;
}

int flops_a_cycle(const std::string& instruction_set) {
  if (instruction_set.starts_with("AVX3")) return 2 * 2 * 16;
  if (instruction_set.starts_with("AVX2")) return 2 * 2 * 8;
  return 2 * 4;
}

}  // namespace veldt::app
