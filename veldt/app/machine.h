// The resources of this machine and process: processor, cores, limits, memory.
// Tests: tests/app/doctor_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace veldt::app {

struct Machine {
  std::string processor;                     // its name, or empty
  double gigahertz = 0;                      // of the fastest core now; 0: unknown
  int allowed = 1;                           // logical processors that this process may use (affinity)
  int cores = 1;                             // physical ones among them
  std::optional<double> cpu_quota;           // processors' worth of time that control groups grant
  std::int64_t memory = 0, memory_free = 0;  // bytes; 0: unknown
  std::optional<std::int64_t> memory_limit;  // bytes that control groups grant
};
// `root` is put before /proc and /sys, for tests.
Machine this_machine(const std::string& root = "");

// f32 operations a cycle and core: two ports of fused multiply-add, as wide as the instruction set's
// registers (one add and one multiply before AVX2). An upper bound; few processors reach it on all ports.
int flops_a_cycle(const std::string& instruction_set);

struct Version {
  std::string library, version;
};
// Versions of the libraries that this process runs with, if they can be asked, or else was built with.
std::vector<Version> library_versions();

}  // namespace veldt::app
