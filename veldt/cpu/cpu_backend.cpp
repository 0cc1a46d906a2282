#include "veldt/cpu/cpu_backend.h"

#include <hwy/targets.h>

#include "veldt/cpu/kernels.h"
#include "veldt/kernels/formula_name.h"

namespace veldt::cpu {

const Backend& backend() {
  static const Backend table = {
      .device = Device{DeviceKind::cpu, 0},
      .formula_name = formula_name,
      .allocate = allocate,
      .deallocate = deallocate,
      .upload = upload,
      .download = download,
      .synchronize = synchronize,
      .fill = fill,
      .copy = copy,
      .unary = unary,
      .unary_slope = unary_slope,
      .binary = binary,
      .ternary = ternary,
      .compare = compare,
      .accumulate = accumulate,
      .where = where,
      .reduce = reduce,
      .arg_reduce = arg_reduce,
      .softmax = softmax,
      .softmax_slope = softmax_slope,
      .layer_norm = layer_norm,
      .layer_norm_slope = layer_norm_slope,
      .attend = attend,
      .attend_slope = attend_slope,
      .lstm = lstm,
      .lstm_slope = lstm_slope,
      .recurrence = recurrence,
      .argsort = argsort,
      .search = search,
      .matmul = matmul,
      .multiplies = multiplies,
      .convolve = convolve,
      .max_pool = max_pool,
      .avg_pool = avg_pool,
      .gather = gather,
      .scatter_add = scatter_add,
      .scatter = scatter,
      .positions = positions,
      .ramp = ramp,
      .index_range = index_range,
      .grid_encode = grid_encode,
      .grid_scatter = grid_scatter,
      .random = random,
      .mlp = mlp,
      .mlp_workspace = mlp_workspace,
      .optimize = optimize,
      .dot = dot,
  };
  return table;
}

const char* instruction_set() {
  const std::int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(supported & -supported);  // the best one is the lowest bit
}

}  // namespace veldt::cpu
