// Kernels of which some have races: what a search for races (gpu_races.cpp) has to find, and what it has to
// let pass.
#pragma once

#include "tests/support/gpu_emulation.h"

namespace veldt::test {

struct Planted {
  const char* name;
  bool races;
  unsigned blocks;
  void (*kernel)(int* data);  // for 64 threads; data: 1024 numbers
};
inline constexpr int kPlanted = 11;
const Planted& planted(int i);

}  // namespace veldt::test
