// Memory that one call of an entry needs on the device beside its arguments.
// Tests: tests/cuda/runtime_test.cpp, tests/cuda/plan_test.cpp
#pragma once

#include <cstddef>

#include "veldt/cuda/device.h"

namespace veldt::cuda {

// Given back in the order of the stream, so it may end while the kernels that use it still wait.
class Scratch {
 public:
  // 0 bytes take nothing.
  explicit Scratch(std::size_t bytes) : data_(bytes > 0 ? take_scratch(bytes) : nullptr) {}
  ~Scratch() {
    if (data_ != nullptr) give_scratch(data_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // The bytes from `offset` on.
  template <class T> T* as(std::size_t offset = 0) const {
    return reinterpret_cast<T*>(static_cast<unsigned char*>(data_) + offset);
  }

 private:
  void* data_;
};

}  // namespace veldt::cuda
