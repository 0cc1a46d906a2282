#include "veldt/tensor/backends.h"

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"
#include "veldt/tensor/intercept.h"

namespace veldt {

const Backend& backend(Device device) {
  if (device.kind == DeviceKind::cpu && device.index == 0) {
    static const Backend& real = cpu::backend();
    return t_interceptor ? intercepting_backend(real) : real;
  }
  throw DeviceError(str("cannot use the device ", device), "this build of Veldt has the cpu backend alone",
                    "choose the cpu");
}

Pool& pool(Device device) {
  // Never destroyed: tensors in static objects may outlive everything else.
  static Pool& cpu_pool = *new Pool(cpu::backend());
  backend(device);
  return cpu_pool;
}

Memory& memory(Device device) {
  if (t_interceptor)
    if (Memory* planned = t_interceptor->memory()) return *planned;
  return pool(device);
}

DeviceChoice choose_device(std::string_view name) {
  const std::string cpu = str("cpu (", num_threads(), num_threads() == 1 ? " thread, " : " threads, ",
                              cpu::instruction_set(), ")");
  if (name == "cpu") return {Device{}, cpu};
  if (name == "auto") return {Device{}, cpu + ", the only backend of this build"};
  if (name.starts_with("cuda"))
    throw DeviceError(str("cannot use the device ", name), "this build of Veldt has the cpu backend alone",
                      "use --device cpu or --device auto");
  throw ConfigError(str("there is no device called '", name, "'"), "devices are cpu and auto",
                    "use --device cpu or --device auto");
}

}  // namespace veldt
