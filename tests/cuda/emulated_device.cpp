#include "tests/support/emulated_device.h"

#include "tests/support/gpu_emulation.h"
#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/device_library.h"
#include "veldt/tensor/impl.h"

namespace veldt::test {
namespace {

// All of the memory that t is a view of is moved as it lies, so no kernel of the device runs.
Tensor moved(const Tensor& t, Device device) {
  const TensorImpl& impl = *t.impl();
  const auto n = static_cast<std::int64_t>(impl.storage->bytes() / size_of(impl.dtype));
  const Tensor whole = to(t.alias({n}, {1}, -impl.offset), device);
  return whole.alias(impl.shape, impl.strides, impl.offset);
}

}  // namespace

void use_emulated_device() {
  static const bool chosen = (set_cuda_library(VELDT_CUDA_LIBRARY), true);
  static_cast<void>(chosen);
}

Tensor onto_device(const Tensor& t) {
  use_emulated_device();
  return moved(t, kEmulated);
}

Tensor from_device(const Tensor& t) { return moved(t, Device{}); }

void DeviceWatch::on_call(const KernelCall& call, const Backend& backend) {
  for (const View& v : call.views()) {
    const bool right = gpu::emulation::owns(v.data) == (backend.device.kind == DeviceKind::cuda);
    if (v.data != nullptr && !right && found_.empty())
      found_ = str(call.name(backend), " on ", backend.device, " was given memory of another device");
  }
  if (found_.empty()) call.run(backend);
}

std::string DeviceWatch::faults() {
  const InterceptorScope off(nullptr);
  backend(kEmulated).synchronize(nullptr);
  return found_.empty() ? gpu::emulation::take_fault() : found_;
}

}  // namespace veldt::test
