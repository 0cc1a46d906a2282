// Latents through the coder, tile by tile: what comes back, what it costs, and that a tile needs nothing
// beside it.
#include "veldt/codec/latents.h"

#include <gtest/gtest.h>

#include "tests/codec/some_networks.h"

namespace veldt::codec {
namespace {

TEST(PackedLatents, EveryTileComesBack) {
  for (const Size size : {Size{1, 1}, Size{5, 1}, Size{1, 9}, Size{37, 22}, Size{64, 64}}) {
    const Networks<std::int32_t> networks = to_integers(some_networks(2));
    const Pyramid pyramid = some_latents(size, 3);
    Pyramid back = whole_pyramid(size);
    for (int level = kLevels - 1; level >= 0; --level) {
      const Tiles tiles{level_size(size, level), 4};
      const ContextModel<std::int32_t>& model = networks.models[static_cast<std::size_t>(model_of(level))];
      for (std::int64_t t = 0; t < tiles.count(); ++t) {
        RangeEncoder out;
        encode_tile(out, pyramid, level, tiles[t], model);
        const std::string bytes = out.finish();
        EXPECT_NEAR(static_cast<double>(bytes.size()), bits_of_tile(pyramid, level, tiles[t], model) / 8, 4);
        RangeDecoder in(bytes);
        decode_tile(in, back, level, tiles[t], model);
        const auto l = static_cast<std::size_t>(level);
        for (std::int64_t y = tiles[t].y0; y < tiles[t].y1; ++y)
          for (std::int64_t x = tiles[t].x0; x < tiles[t].x1; ++x)
            ASSERT_EQ(back[l].row(y)[x], pyramid[l].row(y)[x]) << level << " " << x << " " << y;
      }
    }
  }
}

TEST(PackedLatents, TilesCoverALevelOnce) {
  const Tiles tiles{{70, 33}, 5};
  EXPECT_EQ(tiles.count(), 6);
  EXPECT_EQ(tiles[0], (Region{0, 0, 32, 32}));
  EXPECT_EQ(tiles[5], (Region{64, 32, 70, 33}));
}

TEST(PackedLatents, ATileDependsOnNoOtherOfItsLevel) {
  const Size size{40, 40};
  const Networks<std::int32_t> networks = to_integers(some_networks(2));
  Pyramid pyramid = some_latents(size, 3);
  const Tiles tiles{size, 4};
  const double bits = bits_of_tile(pyramid, 0, tiles[4], networks.models[0]);
  for (std::int64_t y = 0; y < 40; ++y)
    for (std::int64_t x = 0; x < 40; ++x)
      if (!tiles[4].contains(x, y)) pyramid[0].row(y)[x] = 77;
  EXPECT_EQ(bits_of_tile(pyramid, 0, tiles[4], networks.models[0]), bits);
  for (std::int64_t y = 0; y < 20; ++y)  // but on the coarser one
    for (std::int64_t x = 0; x < 20; ++x) pyramid[1].row(y)[x] = 9;
  EXPECT_NE(bits_of_tile(pyramid, 0, tiles[4], networks.models[0]), bits);
}

}  // namespace
}  // namespace veldt::codec
