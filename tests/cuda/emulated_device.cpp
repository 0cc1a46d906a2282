// Tensors on the device under test, and a watch over what its kernels are given.
#include "tests/support/emulated_device.h"

#include "tests/support/device_under_test.h"
#include "tests/support/gpu_emulation.h"
#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
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

void use_emulated_device() { use_device_under_test(); }

Tensor onto_device(const Tensor& t) {
  use_emulated_device();
  return moved(t, kEmulated);
}

Tensor from_device(const Tensor& t) { return moved(t, Device{}); }

void DeviceWatch::on_call(const KernelCall& call, const Backend& backend) {
  if (on_real_gpu()) return call.run(backend);  // where only compute-sanitizer sees as much
  const bool on_device = backend.device.kind == DeviceKind::cuda;
  for (const View& v : call.views())
    if (v.data != nullptr && gpu::emulation::owns(v.data) != on_device && found_.empty())
      found_ = str(call.name(backend), " on ", backend.device, " was given memory of another device");
  if (!found_.empty()) return;
  gpu::emulation::take_ranges();
  call.run(backend);
  if (on_device && !gpu::emulation::take_ranges().contains(call.facts().name))
    found_ = str("a profiler does not see ", call.facts().name, " on ", backend.device);
}

std::string DeviceWatch::faults() {
  const InterceptorScope off(nullptr);
  backend(kEmulated).synchronize();
  return found_.empty() ? gpu::emulation::take_fault() : found_;
}

}  // namespace veldt::test
