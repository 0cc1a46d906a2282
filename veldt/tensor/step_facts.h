// The cost of a step, known before it runs: see Plan and step_facts() of tensor/plan.h.
// Tests: tests/tensor/plan_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace veldt {

struct StepFacts {
  std::size_t held_bytes = 0;      // tensors from outside the step that it touches: parameters, data, state
  std::size_t eager_bytes = 0;     // the peak memory of the step's tensors, run directly
  std::size_t planned_bytes = 0;   // the same for a Plan, which assigns places
  std::int64_t calls = 0;          // of kernels and host functions
  double flops = 0;                // of matrix products, and one for each element of the other ops
  std::vector<std::string> names;  // of the calls, in their order
  std::vector<std::string> waits;  // number of host functions that a GPU has to wait for
};

}  // namespace veldt
