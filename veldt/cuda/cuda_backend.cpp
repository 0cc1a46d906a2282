// The table of the CUDA backend, and what the library exports.
#include "veldt/core/guarded.h"
#include "veldt/cuda/cublas_lt.h"
#include "veldt/cuda/device.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/range.h"
#include "veldt/kernels/formula_name.h"

namespace veldt::cuda {
namespace {

Backend make_table(int index) {
  return {
      .device = Device{DeviceKind::cuda, index},
      .formula_name = formula_name,
      .allocate = ranged<"allocate", allocate>,
      .deallocate = ranged<"deallocate", deallocate>,
      .upload = ranged<"upload", upload>,
      .download = ranged<"download", download>,
      .synchronize = ranged<"synchronize", synchronize>,
      .multiplies = multiplies,
      .mlp_workspace = mlp_workspace,
#define VELDT_ENTRY(name, ...) .name = ranged<#name, guarded<kName, Entry::name, name>>,
#define VELDT_ANSWER(result, name, ...) .name = ranged<#name, guarded<kName, Entry::name, name>>,
#include "veldt/core/entries.inc"
  };
}

const Backend& open(int index) {
  open_device(index);
  static const Backend table = make_table(index);
  return table;
}

}  // namespace
}  // namespace veldt::cuda

extern "C" __attribute__((visibility("default"))) const veldt::DevicePlugin* veldt_device_plugin() {
  static const veldt::DevicePlugin plugin = {
      VELDT_VERSION,
      sizeof(veldt::Backend),
      sizeof(veldt::DevicePlugin),
      veldt::cuda::device_count,
      veldt::cuda::device_facts,
      veldt::cuda::open,
      veldt::cuda::free_bytes,
      veldt::cuda::matrix_library,
      {veldt::cuda::make_steps, veldt::cuda::begin_steps, veldt::cuda::step_done, veldt::cuda::changing,
       veldt::cuda::end_steps, veldt::cuda::ranged<"steps", veldt::cuda::launch_steps>,
       veldt::cuda::destroy_steps},
      veldt::cuda::on_full};
  return &plugin;
}
