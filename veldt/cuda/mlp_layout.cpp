// Lays out the tiles, weights and shared memory of a stack of layers.
#include "veldt/cuda/mlp_layout.h"

#include <algorithm>

#include "veldt/core/carver.h"

namespace veldt::cuda {
namespace {

constexpr double kCacheShare = 0.6;  // of the second-level cache, for a chunk's activations and deltas
constexpr double kMissed = 1.25;     // times as long takes a step whose chunks have no room there [estimated]
// A smaller tile's weights, which come from that cache as well, serve half as many rows [estimated].
constexpr double kSmaller = 1.05;
constexpr int kLeastSplit = 256;  // rows, for fewer are not worth sums of their own
constexpr int kMaxPitch = 256;    // columns of a tile in shared memory

std::int64_t ceil_div(std::int64_t n, std::int64_t step) { return (n + step - 1) / step; }

// How a precision's numbers lie, and the instructions that its walk spends for each of the tensor cores',
// with the larger tile of rows and with the smaller (tools/sass.txt).
struct Costs {
  std::int64_t element, depth_of_product;
  int larger_tile;
  double larger, smaller;
};
constexpr Costs costs_of(Precision precision) {
  switch (precision) {
    case Precision::bf16: return {2, 16, 128, 2.6, 2.6};
    case Precision::tf32: return {4, 8, 64, 2.6, 3.9};
    case Precision::f32: break;
  }
  return {4, 8, 64, 4.5, 5.5};
}

// The smaller tile where more than half of the larger ones would be empty.
std::uint8_t weight_tile_of(int in, int out) {
  const int larger = round_up(in, 128) * round_up(out, 128), smaller = round_up(in, 64) * round_up(out, 64);
  return larger < 2 * smaller ? 128 : 64;
}

void choose_weight_tiles(Precision precision, MlpCall& call) {
  call.weight_tile = 64;
  for (int l = 0; l < call.depth; ++l) {
    MlpCallLayer& layer = call.layers[l];
    layer.weight_tile = weight_tile_of(layer.in, layer.out);
    if (layer.is_product) call.weight_tile = std::max<int>(call.weight_tile, layer.weight_tile);
  }
  if (mixes_weight_tiles(precision)) return;
  for (int l = 0; l < call.depth; ++l)
    call.layers[l].weight_tile = static_cast<std::uint8_t>(call.weight_tile);
}

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

int widest_tile(const MlpCall& call) {
  int widest = call.layers[0].is_product ? std::min<int>(call.layers[0].in, kMaxPitch) : 0;
  for (int l = 0; l < call.depth; ++l) widest = std::max<int>(widest, call.layers[l].out);
  return widest;
}

// Bytes of a row that are kept for the gradients of weights.
std::int64_t row_bytes(const MlpCall& call, std::int64_t element) {
  std::int64_t columns = 0;
  if (call.pass == MlpPass::forward) return 0;
  for (int l = 0; l < call.depth; ++l) {
    const MlpCallLayer& layer = call.layers[l];
    if (layer.is_product)
      columns += round_up(layer.in, MlpCall::kColumns) + round_up(layer.out, MlpCall::kColumns);
  }
  return element * columns;
}

// The tile with which the multiprocessors are done sooner; the larger one where both take as long. It has to
// fit a block's shared memory and hold a group; false where neither does.
bool choose_tiles(const MlpCall& call, const Costs& costs, const MlpDevice& device, MlpCut& cut) {
  const double cache = kCacheShare * static_cast<double>(device.cache_bytes);
  double least = 0;
  for (const bool larger : {true, false}) {
    const int rows = larger ? costs.larger_tile : costs.larger_tile / 2;
    if (call.loss.group > rows) break;
    const int column_warps = rows == 128 ? 4 : 8;
    const auto shared =
        static_cast<std::size_t>(2 * rows * call.pitch * costs.element + column_warps * rows * 8 * 4);
    if (shared > device.shared_bytes) continue;
    const std::int64_t tiles = call.tiles(rows).count(), turns = ceil_div(tiles, device.multiprocessors);
    const std::int64_t at_once = std::min<std::int64_t>(tiles, device.multiprocessors) * rows;
    const bool fits = static_cast<double>(at_once * row_bytes(call, costs.element)) <= cache;
    const double cost = static_cast<double>(turns * rows) * (fits ? 1 : kMissed) *
                        (larger ? costs.larger : costs.smaller * kSmaller);
    if (cut.tile_rows > 0 && cost >= least) break;
    cut = {rows, tiles, shared, 0};
    least = cost;
  }
  return cut.tile_rows > 0;
}

// A chunk is as many turns of all blocks as the cache has room for. Chunks, and the turns of each, are about
// equal, and all of them have no more turns than one chunk would have.
void cut_chunks(const MlpCut& cut, std::int64_t row_bytes, const MlpDevice& device, MlpCall& call) {
  const std::int64_t turns = std::max<std::int64_t>(1, ceil_div(cut.tiles, device.multiprocessors));
  // Registers and shared memory leave room for one block.
  call.blocks = static_cast<int>(ceil_div(cut.tiles, turns));
  call.chunk_tiles = cut.tiles;
  if (row_bytes == 0 || cut.tiles == 0) return;
  const double cache = kCacheShare * static_cast<double>(device.cache_bytes);
  const auto fitting = static_cast<std::int64_t>(cache) / (row_bytes * cut.tile_rows * call.blocks);
  const std::int64_t chunks = ceil_div(turns, std::max<std::int64_t>(1, fitting));
  call.chunk_tiles = std::min(cut.tiles, ceil_div(turns, chunks) * call.blocks);
}

// Parts of a chunk's rows for as many blocks as the device has at a time: one more would take as long as all
// of them once more. Beside larger tiles a smaller one takes half as long, and twice as many rows.
void cut_rows(std::int64_t chunk_rows, const MlpDevice& device, MlpCall& call) {
  int tiles[2] = {};
  for (int l = 0; l < call.depth; ++l)
    tiles[call.layers[l].weight_tile / 128] += call.weight_tiles(call.layers[l]);
  if (tiles[0] + tiles[1] == 0) return;
  const int places = device.weigh_places(call.weight_tile);
  const std::int64_t most = std::max<std::int64_t>(1, ceil_div(chunk_rows, kLeastSplit));
  const std::int64_t wanted = tiles[1] > 0 ? 2 * places / (2 * tiles[1] + tiles[0]) : places / tiles[0];
  const auto count = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, most));
  call.splits[1].count = tiles[1] > 0 ? count : 0;
  call.splits[0].count = tiles[0] == 0 ? 0 : tiles[1] > 0 ? std::max(1, count / 2) : count;
  share_rows(call, chunk_rows);
  for (MlpSplits& s : call.splits)
    if (s.count > 0) s.count = static_cast<int>(std::max<std::int64_t>(1, ceil_div(chunk_rows, s.rows)));
}

// Deals the workspace of a call out.
class Dealer {
 public:
  Dealer(const Costs& costs, const MlpCut& cut, MlpCall& call)
      : call_(call), costs_(costs), blocks_(call.blocks), tile_rows_(cut.tile_rows), parts_(cut.parts()) {}

  void deal() {
    const bool gradients = call_.pass != MlpPass::forward;
    for (int l = 0; l < call_.depth; ++l) {
      if (call_.layers[l].is_product) deal_weights(call_.layers[l], gradients && (l > 0 || call_.wants_dx));
      if (gradients) deal_gradients(call_.layers[l]);
    }
    if (gradients) deal_sums();
  }
  std::size_t bytes() const { return carver_.at(); }

 private:
  MlpPlace take(std::int64_t bytes) {
    return static_cast<MlpPlace>(reinterpret_cast<std::uintptr_t>(carver_.take<char>(bytes)) / 16);
  }
  // Of a block's tile: what its threads keep of each number.
  MlpPlace take_own(int width, std::int64_t bytes) {
    const int panel = tile_rows_ == 128 ? 128 : 256;
    return take(blocks_ * tile_rows_ * ceil_div(width, panel) * panel * bytes);
  }

  void deal_weights(MlpCallLayer& layer, bool back) {
    const auto size = [&](int depth, int width) {
      return 512 * ceil_div(depth, costs_.depth_of_product) * ceil_div(width, MlpCall::kColumns);
    };
    layer.forth = take(size(layer.in, layer.out));
    if (back) layer.back = take(size(layer.out, layer.in));
  }

  void deal_gradients(MlpCallLayer& layer) {
    if (layer.activation != MlpActivation::identity) layer.slope = take_own(layer.out, costs_.element);
    const auto add = [](std::uint32_t& size, int count) {
      const std::uint32_t at = size;
      size += static_cast<std::uint32_t>(count);
      return at;
    };
    layer.db = add(call_.walk_size, layer.out);
    layer.dw = add(layer.is_product ? call_.weight_size : call_.walk_size, layer.in * layer.out);
    if (!layer.is_product) return;
    const std::int64_t rows = call_.chunk_tiles * tile_rows_;
    layer.kept = take(rows * round_up(layer.in, MlpCall::kColumns) * costs_.element);
    layer.delta = take(rows * round_up(layer.out, MlpCall::kColumns) * costs_.element);
  }

  void deal_sums() {
    const int last = call_.depth - 1;
    if (call_.is_thin_output(last)) call_.last = take_own(call_.layers[last].in, 4);
    call_.dy = take(blocks_ * tile_rows_ * call_.layers[last].out * 4);
    call_.walk_sums = take(blocks_ * parts_ * call_.walk_size * 4);
    const int splits = std::max(call_.splits[0].count, call_.splits[1].count);
    if (splits > 0) call_.weight_sums = take(std::int64_t{splits} * call_.weight_size * 4);
    call_.loss_sums = take(blocks_ * 8);
  }

  MlpCall& call_;
  const Costs costs_;
  const std::int64_t blocks_;
  const int tile_rows_, parts_;
  Carver<16> carver_;
};

}  // namespace

void share_rows(MlpCall& call, std::int64_t chunk_rows) {
  for (MlpSplits& s : call.splits)
    if (s.count > 0) s.rows = std::max(32, round_up(static_cast<int>(ceil_div(chunk_rows, s.count)), 32));
}

MlpCut lay_out(const MlpStep& step, std::int64_t n, bool wants_dx, const View* arrays,
               const MlpDevice& device, MlpCall& call) {
  const Costs costs = costs_of(step.precision);
  describe_layers(step, arrays, call);
  choose_weight_tiles(step.precision, call);
  call.pass = step.pass;
  call.wants_dx = wants_dx;
  call.n = n;
  call.loss = step.pass == MlpPass::loss ? step.loss : MlpLoss{};
  call.columns = round_up(widest_tile(call), 64);
  // So that the rows of a fragment lie in different banks.
  call.pitch = call.columns + 16 / static_cast<int>(costs.element);

  MlpCut cut{};
  if (!choose_tiles(call, costs, device, cut)) return cut;
  cut_chunks(cut, row_bytes(call, costs.element), device, call);
  if (step.pass != MlpPass::forward) cut_rows(call.chunk_tiles * cut.tile_rows, device, call);
  Dealer dealer(costs, cut, call);
  dealer.deal();
  cut.bytes = std::max<std::size_t>(dealer.bytes(), 16);  // 0 would say that there are no kernels
  return cut;
}

}  // namespace veldt::cuda
