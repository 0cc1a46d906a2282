// Steps that a device keeps: what a backend offers that can record work and do it again by one launch.
// Tests: tests/cuda/plan_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/view.h"

namespace veldt {

// What becomes of the calls of a step between begin() and end().
enum class StepMode : std::uint8_t {
  run,      // they are done, and it is seen which of them take numbers that change from step to step
  capture,  // they are kept, and done by each launch()
  numbers,  // their numbers alone are kept
};

// The most steps that one launch() can do.
inline constexpr std::int64_t kMostSteps = 64;

// Steps that are kept on the device, the same calls each. Between begin() and end() other threads wait for
// the device. All but destroy throw DeviceError or OutOfMemory.
struct DeviceSteps {
  // `result`: one element that a launch can give of each step; may be null.
  void* (*make)(const View* result);
  // First run, of one step. Then capture, once for each number of steps that a launch is to put together, and
  // numbers: each step captured, and each whose numbers were given, is one that the next launch() does.
  void (*begin)(void* steps, StepMode mode);
  void (*step_done)(void* steps);  // after the calls of each step
  // Around calls whose numbers change: those of optimize and random, and where a contiguous copy reads. Other
  // kernels started there are an error.
  void (*changing)(void* steps, bool on);
  // Not complete: the step that has begun is dropped, and a graph that was captured; the steps before it
  // remain for the next launch().
  void (*end)(void* steps, bool complete);
  // Does the steps of which it has the numbers. `results`: gets the result of each; may be null.
  void (*launch)(void* steps, const View* results);
  void (*destroy)(void* steps);
};

}  // namespace veldt
