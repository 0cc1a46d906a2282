// The calls of a plan on a device that can record work and replay it with one launch: kernels, and host
// functions that only set kernels' numbers. Other host functions run between launches.
// Tests: tests/cuda/plan_test.cpp
#pragma once

#include <memory>
#include <vector>

#include "veldt/core/device_steps.h"
#include "veldt/tensor/intercept.h"

namespace veldt {

class CapturedCalls {
 public:
  // `backend` has steps. `calls` must outlive this. `result`: one element that replay() can return for each
  // step.
  CapturedCalls(const std::vector<std::unique_ptr<KernelCall>>& calls, const Backend& backend,
                const View* result);
  ~CapturedCalls();
  CapturedCalls(const CapturedCalls&) = delete;
  CapturedCalls& operator=(const CapturedCalls&) = delete;

  // Executes the calls this many times. `results`: [steps], or null. The first time they run without capture,
  // because the setup in a kernel's first call cannot be captured. If a call throws, the steps before it are
  // complete, unless the device itself fails.
  void replay(std::int64_t steps, const View* results);

 private:
  struct Part {
    std::size_t first = 0, last = 0;  // of the calls
    void* kept = nullptr;             // null: a host function
    bool warm = false, one = false, many = false;
  };
  void go_through(Part& part, StepMode mode, std::int64_t steps);
  void replay_part(Part& part, std::int64_t steps, const View* results);

  const std::vector<std::unique_ptr<KernelCall>>& calls_;
  const Backend& backend_;
  const DeviceSteps& device_;
  const View result_;
  std::vector<Part> parts_;
};

}  // namespace veldt
