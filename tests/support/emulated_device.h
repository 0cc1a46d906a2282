// Tensors on the emulated device (gpu_emulation.h), as the tests of veldt/cuda need them.
#pragma once

#include <string>

#include "veldt/tensor/intercept.h"
#include "veldt/tensor/tensor.h"

namespace veldt::test {

inline constexpr Device kEmulated{DeviceKind::cuda, 0};

// Makes the emulated library the CUDA backend of this process. Again and again does no harm.
void use_emulated_device();

// A tensor on the device that lies in its memory as `t` does: same strides, same offset, same gaps.
Tensor onto_device(const Tensor& t);
// And back.
Tensor from_device(const Tensor& t);

// While one lives, every call of a backend is checked: all views of a call on the device lie in its memory.
class DeviceWatch final : public Interceptor {
 public:
  DeviceWatch() : scope_(this) {}
  void on_call(const KernelCall& call, const Backend& backend) override;
  // What was found, and faults of kernels; "" if nothing.
  std::string faults();

 private:
  std::string found_;
  InterceptorScope scope_;
};

}  // namespace veldt::test
