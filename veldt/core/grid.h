// A multiresolution grid (Mueller et al. 2022, "Instant neural graphics primitives"): the places of each
// level's vertices in the table of features. Made and checked by grid_layout() of ops/grid_encoding.h.
// Tests: tests/ops/grid_encoding_test.cpp, tests/cuda/grid_test.cpp
#pragma once

#include <array>
#include <cstdint>

namespace veldt {

struct GridLayout {
  static constexpr int kMaxDims = 4, kMaxLevels = 32, kMaxFeatures = 8;

  // From the paper, section 3; the first factor is 1 so that neighbours along x are neighbours in the table.
  static constexpr std::uint32_t kHashFactors[kMaxDims] = {1u, 2654435761u, 805459861u, 3674653429u};

  struct Level {
    std::int32_t cells = 0;  // along each side, so cells + 1 vertices
    bool hashed = false;     // several vertices may share an entry; else each has its own
    std::int64_t first = 0;  // entry of the table

    // The stride along axis k in a vertex's number, or its factor in the hash.
    std::uint32_t step_along(int k) const {
      if (hashed) return kHashFactors[k];
      std::uint32_t step = 1;
      for (int i = 0; i < k; ++i) step *= static_cast<std::uint32_t>(cells) + 1;
      return step;
    }
  };

  int dims = 0;
  int features = 0;
  int levels = 0;
  bool smooth = false;                        // between vertices 3 t^2 - 2 t^3, else t
  std::array<Level, kMaxLevels + 1> level{};  // the entry after the last is the end of the table

  std::int64_t entries() const { return level[static_cast<std::size_t>(levels)].first; }
  std::int64_t entries_of(int l) const {
    return level[static_cast<std::size_t>(l) + 1].first - level[static_cast<std::size_t>(l)].first;
  }
};

// How often the interpolation is differentiated along each axis: all 0 is the encoding itself.
struct GridDerivative {
  std::array<std::uint8_t, GridLayout::kMaxDims> order{};
};

}  // namespace veldt
