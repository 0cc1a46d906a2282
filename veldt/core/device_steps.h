// Steps that a device records: the interface of a backend that can record work and replay it with one launch.
// Tests: tests/cuda/plan_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/view.h"

namespace veldt {

// How the calls of a step between begin() and end() are handled.
enum class StepMode : std::uint8_t {
  run,      // executed, noting which of them take numbers that change from step to step
  capture,  // recorded, and executed by each launch()
  numbers,  // only their numbers are recorded
};

// The maximum number of steps per launch().
inline constexpr std::int64_t kMostSteps = 64;

// Steps recorded on the device, with the same calls each. Between begin() and end() other threads wait for
// the device. All except destroy throw DeviceError or OutOfMemory.
struct DeviceSteps {
  // `result`: one element that a launch can return for each step; may be null.
  void* (*make)(const View* result);
  // First run, for one step. Then capture, once for each number of steps that a launch combines, and numbers:
  // the next launch() executes each step that was captured or whose numbers were given.
  void (*begin)(void* steps, StepMode mode);
  void (*step_done)(void* steps);  // after the calls of each step
  // Around calls whose numbers change: those of optimize and random, and the sources of contiguous copies.
  // Starting other kernels there is an error.
  void (*changing)(void* steps, bool on);
  // Abandons the current step, and a captured graph; the steps before it remain for the next launch().
  void (*end)(void* steps, bool complete);
  // Executes the steps whose numbers it has. `results`: gets the result of each; may be null.
  void (*launch)(void* steps, const View* results);
  void (*destroy)(void* steps);
};

}  // namespace veldt
