// The latents of a region of each level, and their way through the range coder: in tiles that depend
// on nothing beside them on their own level, so that a part of a picture can be decoded without the
// rest.
// Tests: tests/codec/latents_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/codec/networks.h"
#include "veldt/codec/pyramid.h"
#include "veldt/codec/range_coder.h"

namespace veldt::codec {

// The latents of one level in a region; 0 elsewhere.
class Latents {
 public:
  Latents() = default;
  Latents(Size level, Region region);

  Size level() const { return level_; }
  const Region& region() const { return region_; }
  std::int16_t* row(std::int64_t y) {
    return values_.data() + (y - region_.y0) * region_.width() - region_.x0;
  }
  const std::int16_t* row(std::int64_t y) const {
    return values_.data() + (y - region_.y0) * region_.width() - region_.x0;
  }
  std::int32_t at(std::int64_t x, std::int64_t y) const { return region_.contains(x, y) ? row(y)[x] : 0; }

 private:
  Size level_;
  Region region_;
  std::vector<std::int16_t> values_;
};

using Pyramid = std::array<Latents, kLevels>;
// All of a picture, each latent 0.
Pyramid whole_pyramid(Size picture);

// The tiles of a level: squares of 2^tile_log2 latents, row by row, cut at the right and below.
struct Tiles {
  Size level;
  int tile_log2;

  std::int64_t across() const { return (level.width + side() - 1) >> tile_log2; }
  std::int64_t down() const { return (level.height + side() - 1) >> tile_log2; }
  std::int64_t count() const { return across() * down(); }
  std::int64_t side() const { return std::int64_t{1} << tile_log2; }
  Region operator[](std::int64_t i) const;
};

// The latents of a tile of a level. Coarser levels must be there around the tile: decode_tile() needs those
// under its positions and one position beside them. Of a piece that was cut, what it does not hold is 0.
void encode_tile(RangeEncoder& out, const Pyramid& pyramid, int level, const Region& tile,
                 const ContextModel<std::int32_t>& model);
void decode_tile(RangeDecoder& in, Pyramid& pyramid, int level, const Region& tile,
                 const ContextModel<std::int32_t>& model, bool cut = false);
// The bits that encode_tile() takes, without the few of the end.
double bits_of_tile(const Pyramid& pyramid, int level, const Region& tile,
                    const ContextModel<std::int32_t>& model);

}  // namespace veldt::codec
