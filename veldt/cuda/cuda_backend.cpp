// The table of the CUDA backend, and what the library exports.
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
      .fill = ranged<"fill", fill>,
      .copy = ranged<"copy", copy>,
      .unary = ranged<"unary", unary>,
      .unary_slope = ranged<"unary_slope", unary_slope>,
      .binary = ranged<"binary", binary>,
      .ternary = ranged<"ternary", ternary>,
      .compare = ranged<"compare", compare>,
      .accumulate = ranged<"accumulate", accumulate>,
      .where = ranged<"where", where>,
      .reduce = ranged<"reduce", reduce>,
      .arg_reduce = ranged<"arg_reduce", arg_reduce>,
      .softmax = ranged<"softmax", softmax>,
      .softmax_slope = ranged<"softmax_slope", softmax_slope>,
      .layer_norm = ranged<"layer_norm", layer_norm>,
      .layer_norm_slope = ranged<"layer_norm_slope", layer_norm_slope>,
      .attend = ranged<"attend", attend>,
      .attend_slope = ranged<"attend_slope", attend_slope>,
      .lstm = ranged<"lstm", lstm>,
      .lstm_slope = ranged<"lstm_slope", lstm_slope>,
      .recurrence = ranged<"recurrence", recurrence>,
      .argsort = ranged<"argsort", argsort>,
      .search = ranged<"search", search>,
      .matmul = ranged<"matmul", matmul>,
      .multiplies = multiplies,
      .convolve = ranged<"convolve", convolve>,
      .max_pool = ranged<"max_pool", max_pool>,
      .avg_pool = ranged<"avg_pool", avg_pool>,
      .gather = ranged<"gather", gather>,
      .scatter_add = ranged<"scatter_add", scatter_add>,
      .scatter = ranged<"scatter", scatter>,
      .positions = ranged<"positions", positions>,
      .ramp = ranged<"ramp", ramp>,
      .index_range = ranged<"index_range", index_range>,
      .grid_encode = ranged<"grid_encode", grid_encode>,
      .grid_scatter = ranged<"grid_scatter", grid_scatter>,
      .random = ranged<"random", random>,
      .mlp = ranged<"mlp", mlp>,
      .mlp_workspace = mlp_workspace,
      .optimize = ranged<"optimize", optimize>,
      .dot = ranged<"dot", dot>,
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
