// Small computations whose results are known: what `veldt doctor` tries on this machine.
// Tests: tests/app/doctor_test.cpp
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace veldt::app {

struct Finding {
  bool ok = false;
  std::string detail;  // what was found, with the numbers
};

struct KnownAnswer {
  const char* name;
  Finding (*find)();  // an exception is a failure too
};
const std::vector<KnownAnswer>& known_answers();

struct Speed {
  double gigaflops = 0;           // of a matrix product of f32
  double gigabytes_a_second = 0;  // read and written by adding two arrays that no cache holds
};
// Takes about `seconds`.
Speed measured_speed(double seconds);

}  // namespace veldt::app
