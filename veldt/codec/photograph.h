// The body of a packed photograph: what changes the networks that come with Veldt, and the latents, coarse
// levels first, each tile of a level as a piece of the file.
// Tests: tests/codec/photograph_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/codec/colour_axes.h"
#include "veldt/codec/latents.h"
#include "veldt/codec/networks.h"
#include "veldt/codec/networks_code.h"
#include "veldt/core/size.h"

namespace veldt::codec {

// What does not depend on the latents.
struct PhotographPlan {
  int base = 0;       // of base_networks()
  int tile_log2 = 9;  // of the side of a tile, kLeastTile..kMostTile
  ColourAxes axes;
};
inline constexpr int kLeastTile = 4, kMostTile = 19;

// `networks` are as rounded() to these shifts from base_networks(plan.base).
std::string write_photograph(const Pyramid& pyramid, const Networks<std::int32_t>& networks,
                             const Shifts& shifts, PhotographPlan plan);

class PhotographReader {
 public:
  // Keeps a view of the body. Throws IoError malformed with `name` if the body is not one; a body that ends
  // too early is one if `partial`, whose missing latents are 0: the last piece is shown as far as it goes.
  PhotographReader(std::string_view body, Size picture, std::string name, bool partial);

  // Bytes [height][width][3] of the region, which lies in the picture. Decodes the tiles alone that it needs.
  std::vector<std::uint8_t> pixels(const Region& region) const;
  // The share of the bytes of the latents that are there.
  double share() const { return share_; }
  const Networks<std::int32_t>& networks() const { return networks_; }
  // The latents that the region needs.
  Pyramid latents(const Region& region) const;

 private:
  std::uint64_t piece_count() const;
  Tiles tiles(int level) const { return {level_size(picture_, level), plan_.tile_log2}; }

  Size picture_;
  PhotographPlan plan_;
  Networks<std::int32_t> networks_;
  std::vector<std::string_view> pieces_;  // of the coarsest level first, tile by tile
  bool last_is_cut_ = false;
  double share_ = 1;
};

}  // namespace veldt::codec
