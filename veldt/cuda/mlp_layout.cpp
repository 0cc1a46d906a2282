// Lays out the tiles, weights and shared memory of a stack of layers.
#include "veldt/cuda/mlp_layout.h"

#include <algorithm>

#include "veldt/core/carver.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {
namespace {

constexpr double kCacheShare = 0.6;  // of the second-level cache, for a chunk's activations and deltas
constexpr int kLeastSplit = 256;     // rows, for fewer are not worth sums of their own
constexpr int kMaxPitch = 256;       // columns of a tile in shared memory

std::int64_t ceil_div(std::int64_t n, std::int64_t step) { return (n + step - 1) / step; }

void describe_layers(const MlpStep& step, const View* arrays, MlpCall& call) {
  call.depth = static_cast<int>(step.depth);
  for (int l = 0; l < call.depth; ++l) {
    const MlpLayer& from = step.layers[static_cast<std::size_t>(l)];
    MlpCallLayer& to = call.layers[l];
    to = {};
    to.in = static_cast<std::uint16_t>(from.in), to.out = static_cast<std::uint16_t>(from.out);
    to.activation = from.activation, to.omega = from.omega, to.scale = from.scale;
    to.is_product = step.is_product(static_cast<std::size_t>(l));
    if (arrays == nullptr) continue;
    const auto array = [&](MlpStep::Part part) {
      return arrays[MlpStep::layer_array(static_cast<std::size_t>(l), part)].as<float>();
    };
    to.w = array(MlpStep::w), to.b = array(MlpStep::b);
    if (step.pass == MlpPass::forward) continue;
    to.wants_dw = array(MlpStep::dw) != nullptr, to.wants_db = array(MlpStep::db) != nullptr;
  }
}

// The larger tile, whose weights serve more rows, unless the multiprocessors are done much sooner with the
// smaller one. It has to fit a block's shared memory and hold a group; false where neither does.
bool choose_tiles(const MlpCall& call, std::int64_t element, MlpCut& cut) {
  const int most = element == 2 ? 128 : 64;
  for (const int rows : {most, most / 2}) {
    if (call.loss.group > rows) break;
    const int column_warps = rows == 128 ? 4 : 8;
    const auto shared =
        static_cast<std::size_t>(2 * rows * call.pitch * element + column_warps * rows * 8 * 4);
    if (shared > shared_bytes()) continue;
    const std::int64_t tiles = call.tiles(rows).count(), turns = ceil_div(tiles, multiprocessors());
    if (cut.tile_rows > 0 && 4 * turns * rows > 3 * ceil_div(cut.tiles, multiprocessors()) * cut.tile_rows)
      break;
    cut = {rows, tiles, shared, 0};
  }
  return cut.tile_rows > 0;
}

}  // namespace

MlpCut lay_out(const MlpStep& step, std::int64_t n, bool wants_dx, const View* arrays,
               int (*weigh_places)(int), MlpCall& call) {
  describe_layers(step, arrays, call);
  call.pass = step.pass;
  call.wants_dx = wants_dx;
  call.n = n;
  call.loss = step.pass == MlpPass::loss ? step.loss : MlpLoss{};
  const bool halves = step.precision == Precision::bf16, gradients = step.pass != MlpPass::forward;
  const std::int64_t element = halves ? 2 : 4, depth_of_product = halves ? 16 : 8;

  int widest = call.layers[0].is_product ? std::min<int>(call.layers[0].in, kMaxPitch) : 0;
  std::int64_t row_bytes = 0;
  for (int l = 0; l < call.depth; ++l) {
    const MlpCallLayer& layer = call.layers[l];
    widest = std::max<int>(widest, layer.out);
    if (!layer.is_product) continue;
    row_bytes += element * (round_up(layer.in, MlpCall::kColumns) + round_up(layer.out, MlpCall::kColumns));
  }
  call.columns = round_up(widest, 64);
  call.weight_tile = widest > 64 ? 128 : 64;
  call.pitch = call.columns + (halves ? 8 : 4);  // so that the rows of a fragment lie in different banks

  MlpCut cut{};
  if (!choose_tiles(call, element, cut)) return cut;
  // Registers and shared memory leave room for one block.
  call.blocks = static_cast<int>(std::min<std::int64_t>(cut.tiles, multiprocessors()));
  call.chunk_tiles = cut.tiles;
  if (gradients && row_bytes > 0) {
    const double cache = kCacheShare * static_cast<double>(cache_bytes());
    const std::int64_t budget = static_cast<std::int64_t>(cache) / (row_bytes * cut.tile_rows);
    const std::int64_t rounds = std::max<std::int64_t>(1, budget / std::max(1, call.blocks));
    call.chunk_tiles = std::min(cut.tiles, rounds * call.blocks);
  }

  Carver<16> carver;
  const auto take = [&](std::int64_t bytes) {
    return static_cast<MlpPlace>(reinterpret_cast<std::uintptr_t>(carver.take<char>(bytes)) / 16);
  };
  const std::int64_t blocks = call.blocks, chunk_rows = call.chunk_tiles * cut.tile_rows;
  const int panel = cut.tile_rows == 128 ? 128 : 256;
  // Of a block's tile: what its threads keep of each number.
  const auto own = [&](int width, std::int64_t bytes) {
    return take(blocks * cut.tile_rows * ceil_div(width, panel) * panel * bytes);
  };
  std::uint32_t walk_size = 0, weight_size = 0;
  for (int l = 0; l < call.depth; ++l) {
    MlpCallLayer& layer = call.layers[l];
    const int in = layer.in, out = layer.out;
    const bool back = gradients && (l > 0 || wants_dx);
    if (layer.is_product) {
      layer.forth = take(512LL * ceil_div(in, depth_of_product) * ceil_div(out, MlpCall::kColumns));
      if (back) layer.back = take(512LL * ceil_div(out, depth_of_product) * ceil_div(in, MlpCall::kColumns));
    }
    if (!gradients) continue;
    if (layer.activation != MlpActivation::identity) layer.slope = own(out, halves ? 2 : 4);
    layer.db = walk_size;
    walk_size += static_cast<std::uint32_t>(out);
    if (layer.is_product) {
      layer.kept = take(chunk_rows * round_up(in, MlpCall::kColumns) * element);
      layer.delta = take(chunk_rows * round_up(out, MlpCall::kColumns) * element);
      layer.dw = weight_size;
      weight_size += static_cast<std::uint32_t>(in * out);
    } else {
      layer.dw = walk_size;
      walk_size += static_cast<std::uint32_t>(in * out);
    }
  }
  call.walk_size = walk_size, call.weight_size = weight_size;
  if (gradients) {
    const int last = call.depth - 1;
    if (call.is_thin_output(last)) call.last = own(call.layers[last].in, 4);
    call.dy = take(blocks * cut.tile_rows * call.layers[last].out * 4);
    call.walk_sums = take(blocks * cut.parts() * walk_size * 4);
    int weight_tiles = 0;
    for (int l = 0; l < call.depth; ++l) weight_tiles += call.weight_tiles(call.layers[l]);
    if (weight_tiles > 0) {
      // One block more than there are places would take as long as all of them once more.
      const std::int64_t places = weigh_places(call.weight_tile);
      const std::int64_t wanted =
          std::min<std::int64_t>(places / weight_tiles, ceil_div(chunk_rows, kLeastSplit));
      const auto split_rows = static_cast<int>(ceil_div(chunk_rows, std::max<std::int64_t>(1, wanted)));
      call.split_rows = std::max(32, round_up(split_rows, 32));
      call.splits = static_cast<int>(ceil_div(chunk_rows, call.split_rows));
      call.weight_sums = take(std::int64_t{call.splits} * weight_size * 4);
    }
    call.loss_sums = take(blocks * 8);
  }
  cut.bytes = std::max<std::size_t>(carver.at(), 16);  // 0 would say that there are no kernels
  return cut;
}

}  // namespace veldt::cuda
