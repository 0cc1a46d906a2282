// How a stack of layers is cut for devices that are not here: tiles of rows, chunks, and parts of the
// gradients of weights.
#include <gtest/gtest.h>

#include "veldt/cuda/mlp_layout.h"

namespace veldt::test {
namespace {

using cuda::MlpCall;
using cuda::MlpCut;
using cuda::MlpDevice;

// Two blocks of weigh_kernel with the large tile a multiprocessor, four with the small one.
template <int kMultiprocessors> int places(int weight_tile) {
  return kMultiprocessors * (weight_tile == 128 ? 2 : 4);
}
const MlpDevice kH100 = {132, 227 * 1024, 50 << 20, places<132>};
const MlpDevice kA100 = {108, 163 * 1024, 40 << 20, places<108>};
const MlpDevice kRtx4060 = {24, 99 * 1024, 24 << 20, places<24>};
const MlpDevice kTiny = {1, 227 * 1024, 1 << 20, places<1>};

MlpStep step_of(const std::vector<std::int64_t>& sizes, Precision precision, MlpPass pass = MlpPass::loss) {
  MlpStep step;
  step.pass = pass;
  step.precision = precision;
  step.depth = sizes.size() - 1;
  for (std::size_t l = 0; l < step.depth; ++l) step.layers[l] = {sizes[l], sizes[l + 1]};
  return step;
}
const std::vector<std::int64_t> kSeedNet = {2, 128, 128, 256, 128, 64, 64, 64, 1};
const std::vector<std::int64_t> kSiren = {2, 256, 256, 256, 256, 3};
const std::vector<std::int64_t> kGridNet = {32, 64, 64, 3};

struct Laid {
  MlpCall call = {};
  MlpCut cut = {};
};
Laid laid(const MlpStep& step, std::int64_t rows, const MlpDevice& device) {
  Laid out;
  out.cut = cuda::lay_out(step, rows, false, nullptr, device, out.call);
  return out;
}
int weight_blocks(MlpCall call) {
  int blocks = 0;
  for (int l = 0; l < call.depth; ++l) {
    call.layers[l].wants_dw = true;
    blocks += call.layers[l].is_product ? call.weight_blocks(l) : 0;
  }
  return blocks;
}

// 313 tiles of 128 rows would take three turns of 132 multiprocessors, as long as six of the small tile.
TEST(CudaMlpLayout, TakesTheTileWithWhichTheMultiprocessorsAreDoneSooner) {
  EXPECT_EQ(laid(step_of(kSeedNet, Precision::bf16), 40000, kH100).cut.tile_rows, 64);
  EXPECT_EQ(laid(step_of(kSeedNet, Precision::bf16), 132 * 128, kRtx4060).cut.tile_rows, 64);
  EXPECT_EQ(laid(step_of(kGridNet, Precision::bf16), 1 << 18, kH100).cut.tile_rows, 128);
  EXPECT_EQ(laid(step_of(kGridNet, Precision::bf16), 1 << 18, kA100).cut.tile_rows, 128);
  EXPECT_EQ(laid(step_of(kSiren, Precision::bf16, MlpPass::forward), 1 << 20, kH100).cut.tile_rows, 128);
  EXPECT_EQ(laid(step_of(kSiren, Precision::bf16, MlpPass::forward), 1000, kH100).cut.tile_rows, 64);
  // Floats' small tile spends more instructions on each product.
  EXPECT_EQ(laid(step_of(kSeedNet, Precision::tf32), 40000, kH100).cut.tile_rows, 64);
  EXPECT_EQ(laid(step_of(kSeedNet, Precision::f32), 40000, kH100).cut.tile_rows, 64);
  EXPECT_EQ(laid(step_of(kSeedNet, Precision::f32), 3000, kH100).cut.tile_rows, 32);
}

// Four turns of 128 rows, or eight of 64; but 132 tiles of 128 rows do not fit the cache.
TEST(CudaMlpLayout, TakesTheTileWhoseChunksFitTheCache) {
  MlpDevice device = kH100;
  EXPECT_EQ(laid(step_of(kSiren, Precision::bf16), 1 << 16, device).cut.tile_rows, 64);
  device.cache_bytes *= 2;
  EXPECT_EQ(laid(step_of(kSiren, Precision::bf16), 1 << 16, device).cut.tile_rows, 128);
}

TEST(CudaMlpLayout, CutsEqualChunks) {
  const Laid seed = laid(step_of(kSeedNet, Precision::bf16), 40000, kH100);
  EXPECT_EQ(seed.cut.tiles, 625);
  EXPECT_EQ(seed.call.blocks, 125);  // five turns, and not 4 of 132 and one of 97
  EXPECT_EQ(seed.call.chunk_tiles, 125);
  const Laid grid = laid(step_of(kGridNet, Precision::bf16), 1 << 18, kH100);
  EXPECT_EQ(grid.cut.tiles, 2048);
  EXPECT_EQ(grid.call.blocks, 128);
  EXPECT_EQ(grid.call.chunk_tiles, 512);  // four turns of sixteen
  EXPECT_EQ(laid(step_of(kGridNet, Precision::bf16), 40000, kTiny).call.chunk_tiles, 10);
  EXPECT_EQ(laid(step_of(kSiren, Precision::bf16, MlpPass::forward), 1 << 20, kH100).call.chunk_tiles, 8192);
}

TEST(CudaMlpLayout, CutsNoMoreTurnsThanOneChunkHas) {
  for (const MlpDevice& device : {kH100, kA100, kRtx4060, kTiny})
    for (const Precision p : {Precision::f32, Precision::tf32, Precision::bf16})
      for (std::int64_t rows = 1; rows < 4000000; rows = rows * 3 / 2 + 7) {
        const Laid l = laid(step_of(kGridNet, p), rows, device);
        std::int64_t turns = 0;
        for (std::int64_t first = 0; first < l.cut.tiles; first += l.call.chunk_tiles)
          turns += (std::min(l.call.chunk_tiles, l.cut.tiles - first) + l.call.blocks - 1) / l.call.blocks;
        EXPECT_EQ(turns, (l.cut.tiles + device.multiprocessors - 1) / device.multiprocessors) << rows;
        EXPECT_LE(l.call.blocks, device.multiprocessors);
      }
}

// Twelve tiles of 128 x 128, of which each is cut into 22 parts: all 264 places are taken, and no more.
TEST(CudaMlpLayout, CutsWeightsIntoAsManyPartsAsThereArePlaces) {
  const Laid siren = laid(step_of(kSiren, Precision::bf16), 1 << 16, kH100);
  EXPECT_EQ(siren.call.weight_tile, 128);
  EXPECT_EQ(siren.call.splits[1].count, 22);
  EXPECT_EQ(siren.call.splits[1].rows, 384);
  EXPECT_EQ(siren.call.splits[0].count, 0);
  EXPECT_EQ(weight_blocks(siren.call), 264);
  EXPECT_EQ(laid(step_of(kSiren, Precision::bf16), 1 << 16, kA100).call.splits[1].count,
            18);  // of 216 places
  const Laid grid = laid(step_of(kGridNet, Precision::bf16), 1 << 18, kRtx4060);
  EXPECT_EQ(grid.call.weight_tile, 64);
  EXPECT_EQ(weight_blocks(grid.call), 96);
}

// Beside 128 x 128 a tile of 64 x 64 takes twice as many rows.
TEST(CudaMlpLayout, GivesNarrowLayersSmallerTilesOfWeights) {
  Laid seed = laid(step_of(kSeedNet, Precision::bf16), 1 << 20, kA100);
  const int tiles[] = {64, 128, 128, 128, 64, 64, 64, 64};
  for (int l = 0; l < seed.call.depth; ++l) EXPECT_EQ(seed.call.layers[l].weight_tile, tiles[l]) << l;
  EXPECT_EQ(seed.call.splits[1].count, 27);
  EXPECT_EQ(seed.call.splits[1].rows, 256);
  EXPECT_EQ(seed.call.splits[0].count, 13);
  EXPECT_EQ(seed.call.splits[0].rows, 544);
  EXPECT_EQ(weight_blocks(seed.call), 5 * 27 + 4 * 13);
  cuda::share_rows(seed.call, 13 * 64);  // a chunk that is smaller
  EXPECT_EQ(seed.call.splits[1].rows, 32);
  EXPECT_EQ(seed.call.splits[0].rows, 64);
  const Laid exact = laid(step_of(kSeedNet, Precision::f32), 1 << 20, kA100);
  for (int l = 0; l < exact.call.depth; ++l) EXPECT_EQ(exact.call.layers[l].weight_tile, 128) << l;
}

TEST(CudaMlpLayout, RefusesWhatSharedMemoryDoesNotHold) {
  MlpStep step = step_of(kSiren, Precision::bf16);
  EXPECT_EQ(laid(step, 1000, kRtx4060).cut.tile_rows, 64);
  step.loss.group = 100;
  step.loss.pooled = 1000;
  EXPECT_EQ(laid(step, 1000, kH100).cut.tile_rows, 128);
  EXPECT_EQ(laid(step, 1000, kRtx4060).cut.bytes, 0u);
}

}  // namespace
}  // namespace veldt::test
