// The table of the CUDA backend, and what the library exports.
#include "veldt/core/guarded.h"
#include "veldt/cuda/cublas_lt.h"
#include "veldt/cuda/device.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/nccl.h"
#include "veldt/cuda/range.h"
#include "veldt/kernels/formula_name.h"

namespace veldt::cuda {
namespace {

constexpr DeviceSteps kSteps = {
    make_steps, begin_steps, step_done, changing, end_steps, ranged<"steps", launch_steps>, destroy_steps};

Backend make_table(Device device) {
  return {
      .device = device,
      .allocate = ranged<"allocate", allocate>,
      .deallocate = ranged<"deallocate", deallocate>,
      .upload = ranged<"upload", upload>,
      .download = ranged<"download", download>,
      .synchronize = ranged<"synchronize", synchronize>,
      .formula_name = formula_name,
      .multiplies = multiplies,
      .mlp_workspace = mlp_workspace,
      .steps = &kSteps,
      .free_bytes = free_bytes,
      .on_full = on_full,
#define VELDT_OPTIONAL(...)
#define VELDT_ENTRY(name, ...) .name = ranged<#name, guarded<kName, Entry::name, name>>,
#define VELDT_ANSWER(result, name, ...) .name = ranged<#name, guarded<kName, Entry::name, name>>,
#include "veldt/core/entries.inc"
  };
}

const Backend& open(Device device) {
  open_device(device.index);
  static const Backend table = make_table(device);
  return table;
}

}  // namespace
}  // namespace veldt::cuda

extern "C" __attribute__((visibility("default"))) const veldt::DevicePlugin* veldt_device_plugin() {
  static const veldt::DevicePlugin plugin = {
      .version = VELDT_VERSION,
      .waist_digest = veldt::kWaistDigest,
      .device_count = veldt::cuda::device_count,
      .facts = veldt::cuda::device_facts,
      .open = veldt::cuda::open,
      .matrix_library = veldt::cuda::matrix_library,
      .link_library = veldt::cuda::link_library,
      .new_links_id = veldt::cuda::new_links_id,
      .open_links = veldt::cuda::open_links,
  };
  return &plugin;
}
