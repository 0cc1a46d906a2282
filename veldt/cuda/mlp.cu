// Fused stacks of layers: a call is a few launches, of which mlp_walk-inl.h is the first to read.
#include "veldt/core/error.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/mlp_kernels.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {
namespace {

// Numbers whose parts are added up in their order: to[i] = from[i] + from[stride + i] + ..
struct Joined {
  const float* from;
  float* to;
  std::uint32_t count, stride;
  int parts;
};
struct Joins {
  static constexpr int kMost = 2 * MlpStep::kMaxLayers;
  Joined all[kMost];
  int count = 0;
  const double* loss;  // of `blocks` blocks
  int blocks;
  double numbers;  // of which the loss is the mean
  float* value;    // null if there is none
};

// blockIdx.y: which of them. The first block has the loss too.
__global__ void __launch_bounds__(kThreads) join_kernel(const __grid_constant__ Joins joins) {
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x < 32 && joins.value != nullptr) {
    double sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < joins.blocks; i += 32) sum += joins.loss[i];
    GPU_UNROLLED
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(gpu::kWholeWarp, sum, d);
    if (threadIdx.x == 0) *joins.value = static_cast<float>(sum / joins.numbers);
  }
  if (static_cast<int>(blockIdx.y) >= joins.count) return;
  const Joined& join = joins.all[blockIdx.y];
  for (std::int64_t i = first_element(); i < join.count; i += element_step()) {
    float sum = 0;
    for (int p = 0; p < join.parts; ++p) sum += join.from[p * std::int64_t{join.stride} + i];
    join.to[i] = sum;
  }
}

void join(const MlpStep& step, const View* arrays, const MlpCall& call, const MlpCut& cut) {
  Joins joins{};
  std::uint32_t most = 1;
  const auto add = [&](std::size_t l, MlpStep::Part part, MlpPlace sums, std::uint32_t at, int count,
                       std::uint32_t stride, int parts) {
    float* const to = arrays[MlpStep::layer_array(l, part)].as<float>();
    if (to == nullptr) return;
    const auto n = static_cast<std::uint32_t>(count);
    joins.all[joins.count++] = {call.at<float>(sums) + at, to, n, stride, parts};
    most = std::max(most, n);
  };
  const int walked = call.blocks * cut.parts();
  for (std::size_t l = 0; l < step.depth; ++l) {
    const MlpCallLayer& layer = call.layers[l];
    if (layer.is_product)
      add(l, MlpStep::dw, call.weight_sums, layer.dw, layer.in * layer.out, call.weight_size,
          call.splits_of(layer).count);
    else
      add(l, MlpStep::dw, call.walk_sums, layer.dw, layer.in * layer.out, call.walk_size, walked);
    add(l, MlpStep::db, call.walk_sums, layer.db, layer.out, call.walk_size, walked);
  }
  if (step.pass == MlpPass::loss) {
    joins.loss = call.at<double>(call.loss_sums);
    joins.blocks = call.blocks;
    joins.numbers = static_cast<double>(step.loss.targets(call.n) * step.layers[step.depth - 1].out);
    joins.value = arrays[MlpStep::value].as<float>();
  }
  if (joins.count == 0 && joins.value == nullptr) return;
  const dim3 blocks((most + kThreads - 1) / kThreads, static_cast<unsigned>(std::max(1, joins.count)));
  launch(join_kernel, blocks, kThreads, 0, joins);
}

const MlpKernels& mlp_kernels(Precision precision) {
  switch (precision) {
    case Precision::bf16: return mlp_kernels_bf16();
    case Precision::tf32: return mlp_kernels_tf32();
    case Precision::f32: break;
  }
  return mlp_kernels_f32();
}

MlpDevice device_of(const MlpKernels& kernels) {
  return {multiprocessors(), shared_bytes(), cache_bytes(), kernels.weigh_places};
}

}  // namespace

std::size_t mlp_workspace(const MlpStep& step, std::int64_t n, bool wants_dx) {
  MlpCall call{};
  return lay_out(step, n, wants_dx, nullptr, device_of(mlp_kernels(step.precision)), call).bytes;
}

void mlp(const MlpStep& step, const View* arrays, int) {
  MlpCall call{};
  const std::int64_t n = arrays[MlpStep::x].shape[0];
  const MlpKernels& kernels = mlp_kernels(step.precision);
  const MlpCut cut = lay_out(step, n, arrays[MlpStep::dx].data != nullptr, arrays, device_of(kernels), call);
  if (n > 0 && cut.tiles == 0)
    throw DeviceError("cannot run a stack of layers at once on cuda",
                      "its tiles do not fit into shared memory", "run its layers one by one");
  call.workspace = arrays[MlpStep::workspace].as<unsigned char>();
  call.x = arrays[MlpStep::x].as<float>(), call.given = arrays[MlpStep::given].as<float>();
  call.weight = arrays[MlpStep::weight].as<float>();
  call.out = arrays[MlpStep::out].as<float>(), call.dx = arrays[MlpStep::dx].as<float>();
  const std::int64_t numbers = step.loss.targets(n) * step.layers[step.depth - 1].out;
  call.loss_scale = 1 / static_cast<float>(std::max<std::int64_t>(1, numbers));

  const Turn turn = take_turn();
  if (cut.tiles > 0) kernels.pack(call);
  const std::int64_t chunk = call.chunk_tiles;
  for (; call.first_tile < cut.tiles; call.first_tile += chunk) {
    call.chunk_tiles = std::min(chunk, cut.tiles - call.first_tile);
    share_rows(call, call.chunk_tiles * cut.tile_rows);
    kernels.walk(call, cut);
    if (step.pass != MlpPass::forward) kernels.weigh(call, cut);
  }
  if (step.pass == MlpPass::forward) return;
  if (cut.tiles == 0) call.splits[0] = call.splits[1] = {};  // nothing was added up
  join(step, arrays, call, cut);
}

}  // namespace veldt::cuda
