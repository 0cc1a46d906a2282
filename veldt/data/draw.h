// The random numbers of loaders: one seed gives a stream for each use and each position.
// Tests: tests/data/loader_test.cpp, tests/data/stream_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/rng.h"

namespace veldt::data {

// The uses of random numbers: each has its own streams, even with the same seed.
enum class Draw : std::uint32_t { example = 0x6c6f6164, batch = 0x62617463, choice = 0x63686f69 };

// The stream of one position. Shuffle, which draws from the same seed, has another key.
inline Rng stream_of(Draw what, std::uint64_t seed, std::int64_t epoch, std::int64_t position) {
  const auto half = [](std::int64_t x, int shift) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(x) >> shift);
  };
  const Philox::Block b =
      Philox::block({half(epoch, 0), half(epoch, 32), half(position, 0), half(position, 32)},
                    static_cast<std::uint32_t>(seed) ^ static_cast<std::uint32_t>(what),
                    static_cast<std::uint32_t>(seed >> 32));
  return Rng(std::uint64_t{b[1]} << 32 | b[0], std::uint64_t{b[3]} << 32 | b[2]);
}

}  // namespace veldt::data
