#include "veldt/tensor/backends.h"

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"
#include "veldt/tensor/device_library.h"
#include "veldt/tensor/intercept.h"

namespace veldt {
namespace {

Pool* g_cuda_pool = nullptr;  // of the one device of the process

const Backend& real_backend(Device device) {
  static const Backend& cpu = cpu::backend();
  if (device.kind == DeviceKind::cuda) return cuda_library().open(device.index);
  if (device.index == 0) return cpu;
  throw DeviceError(str("cannot use the device ", device), "there is one cpu", "choose the cpu");
}

std::string cpu_text() {
  return str("cpu (", num_threads(), num_threads() == 1 ? " thread, " : " threads, ", cpu::instruction_set(),
             ")");
}

// "cuda" or "cuda:N".
Device cuda_named(std::string_view name) {
  const std::string_view digits = name.size() > 5 ? name.substr(5) : "0";
  const bool number = digits.size() <= 3 && digits.find_first_not_of("0123456789") == std::string_view::npos;
  if ((name.size() > 4 && name[4] != ':') || digits.empty() || name == "cuda:" || !number)
    throw ConfigError(str("there is no device called '", name, "'"), "devices are cpu, cuda, cuda:N and auto",
                      "use --device cuda:0, for example");
  return {DeviceKind::cuda, std::stoi(std::string(digits))};
}

}  // namespace

const Backend& backend(Device device) {
  const Backend& real = real_backend(device);
  return t_interceptor ? intercepting_backend(real) : real;
}

Pool& pool(Device device) {
  // Never destroyed: tensors in static objects may outlive everything else.
  if (device.kind == DeviceKind::cuda) {
    static Pool& cuda_pool = *[&] {
      g_cuda_pool = new Pool(real_backend(device));
      cuda_library().on_full([] { g_cuda_pool->trim(); });
      return g_cuda_pool;
    }();
    real_backend(device);
    return cuda_pool;
  }
  static Pool& cpu_pool = *new Pool(cpu::backend());
  real_backend(device);
  return cpu_pool;
}

Memory& memory(Device device) {
  if (t_interceptor)
    if (Memory* planned = t_interceptor->memory(device)) return *planned;
  return pool(device);
}

std::size_t bytes_for_tensors(Device device) {
  const PoolStats stats = pool(device).stats();
  if (stats.limit > 0) return stats.limit;
  if (device.kind == DeviceKind::cpu) return 0;
  return stats.bytes_in_use + stats.bytes_cached + cuda_library().free_bytes();
}

DeviceChoice choose_device(std::string_view name) {
  if (name == "cpu") return {Device{}, cpu_text()};
  if (name == "auto") {
    const CudaReport cuda = look_for_cuda();
    if (!cuda.usable) return {Device{}, str(cpu_text(), "; no GPU: ", cuda.reason)};
    return {Device{}, str(cpu_text(), "; --device cuda would use the ", cuda.devices.front().name)};
  }
  if (name.starts_with("cuda")) {
    const Device device = cuda_named(name);
    backend(device);
    return {device, str(device, " (", cuda_library().facts(device.index).name, ")")};
  }
  throw ConfigError(str("there is no device called '", name, "'"), "devices are cpu, cuda, cuda:N and auto",
                    "use --device cpu or --device auto");
}

}  // namespace veldt
