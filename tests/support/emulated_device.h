// Tensors on the device under test (device_under_test.h), the emulated one but where a GPU is asked for.
#pragma once

#include <string>

#include "veldt/tensor/intercept.h"
#include "veldt/tensor/tensor.h"

namespace veldt::test {

inline constexpr Device kEmulated{DeviceKind::cuda, 0};

// See use_device_under_test().
void use_emulated_device();

// A tensor on the device that lies in its memory as `t` does: same strides, same offset, same gaps.
Tensor onto_device(const Tensor& t);
// And back.
Tensor from_device(const Tensor& t);

// While one exists, every call of a backend on the emulated device is checked: all its views are in the
// device's memory, and a profiler sees a range with its name.
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
