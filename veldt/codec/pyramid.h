// The shape of a packed photograph: integers, called latents, on seven grids. Level 0 has one for each
// pixel, and each further level half as many columns and rows. Coarse levels come first in a file; a
// latent's probability is computed from those before it on its own level and from the next two coarser
// levels (Cool-chic: Ladune et al. 2023; C3: Kim et al. 2023).
// Tests: tests/codec/latents_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "veldt/core/size.h"

namespace veldt::codec {

inline constexpr int kLevels = 7;
inline constexpr std::int32_t kLargestLatent = 511;  // and its negative

// What the model of a latent at (x, y) looks at. Those of its own level were decoded before it.
struct Offset {
  int x, y;
};
inline constexpr std::array<Offset, 10> kOwnContext = {
    {{-1, 0}, {0, -1}, {-1, -1}, {1, -1}, {-2, 0}, {0, -2}, {0, -3}, {-3, 0}, {-2, -1}, {1, -2}}};
// Of the next coarser level: the latents under these positions, where (x, y) lies above (x/2, y/2).
inline constexpr std::array<Offset, 5> kParentContext = {{{0, 0}, {0, -1}, {0, 1}, {-1, 0}, {1, 0}}};
// And the one under (x, y) two levels coarser.
inline constexpr int kContexts = static_cast<int>(kOwnContext.size() + kParentContext.size()) + 1;

// Levels 0 to 3 have a model each; coarser ones share the last.
inline constexpr int kModels = 5;
constexpr int model_of(int level) { return std::min(level, kModels - 1); }

constexpr Size level_size(Size picture, int level) {
  const std::int64_t up = (std::int64_t{1} << level) - 1;
  return {(picture.width + up) >> level, (picture.height + up) >> level};
}

// Columns x0 to x1 and rows y0 to y1 of a level; the ends are outside.
struct Region {
  std::int64_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;

  std::int64_t width() const { return x1 - x0; }
  std::int64_t height() const { return y1 - y0; }
  bool contains(std::int64_t x, std::int64_t y) const { return x >= x0 && x < x1 && y >= y0 && y < y1; }
  bool operator==(const Region&) const = default;
};

}  // namespace veldt::codec
