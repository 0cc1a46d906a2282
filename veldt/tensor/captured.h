// The calls of a plan on a device that can keep work and do it again by one launch: a graph for each stretch
// of kernels between two host functions.
#pragma once

#include <memory>
#include <vector>

#include "veldt/core/device_plugin.h"
#include "veldt/tensor/intercept.h"

namespace veldt {

class CapturedCalls {
 public:
  // Captures `calls`, which must live on, without doing any. Throws what a call throws. The calls must have
  // run once before: what a kernel makes at its first call cannot be captured.
  CapturedCalls(const std::vector<std::unique_ptr<KernelCall>>& calls, const Backend& backend,
                const DeviceGraphs& graphs);
  ~CapturedCalls();
  CapturedCalls(const CapturedCalls&) = delete;
  CapturedCalls& operator=(const CapturedCalls&) = delete;

  void replay() const;

 private:
  struct Part {
    void* graph = nullptr;             // or
    const KernelCall* host = nullptr;  // a host function
  };
  void capture(std::size_t first, std::size_t last, const std::vector<std::unique_ptr<KernelCall>>& calls);

  const Backend& backend_;
  const DeviceGraphs& graphs_;
  std::vector<Part> parts_;
};

}  // namespace veldt
