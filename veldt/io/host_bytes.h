// A tensor's bytes in row-major order on the host. Only for the writers of io.
// Tests: tests/io/npy_test.cpp, tests/io/safetensors_test.cpp
#pragma once

#include <cstddef>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::io {

class HostBytes {
 public:
  // Copies only if the tensor is not contiguous or is on another device.
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
