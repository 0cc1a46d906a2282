// A tensor's bytes in row-major order on the host. For the writers of io alone.
// Tests: tests/io/npy_test.cpp, tests/io/safetensors_test.cpp
#pragma once

#include <cstddef>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::io {

class HostBytes {
 public:
  // Copies only what is not contiguous or lies on another device.
  explicit HostBytes(const Tensor& tensor);
  const void* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  Tensor packed_;
  std::vector<char> copy_;
  const void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace veldt::io
