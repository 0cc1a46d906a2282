// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers:
// as easy as 1, 2, 3", SC 2011). A value is a pure function of (seed, stream, position): it needs no warm-up
// and no lock, and a checkpoint stores two integers.
// Tests: tests/core/rng_test.cpp
#pragma once

#include <array>
#include <cstdint>

namespace veldt {

struct Philox {
  using Block = std::array<std::uint32_t, 4>;
  // Ten rounds over a 128-bit counter with a 64-bit key.
  static constexpr Block block(Block counter, std::uint32_t key0, std::uint32_t key1) {
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
      counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(p1),
                 static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(p0)};
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    return counter;
  }
};

// A stream of random numbers. Draw i of (seed, stream) is lane i % 4 of Philox block i / 4, with the key from
// the seed and the upper half of the counter from the stream: the CPU, CUDA and a rerun all draw the same.
class Rng {
 public:
  explicit Rng(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  std::uint64_t seed() const { return seed_; }
  std::uint64_t stream() const { return stream_; }
  std::uint64_t position() const { return position_; }  // draws taken so far
  void seek(std::uint64_t position) { position_ = position; }

  std::uint32_t next_u32() { return at(position_++); }
  // Uniform in [0, 1), 24 bits.
  float next_uniform() { return to_unit(next_u32()); }
  // Uniform in 0..n-1 (n > 0), without modulo bias beyond 2^-32 (Lemire, 2019).
  std::uint64_t next_below(std::uint64_t n) {
    const std::uint64_t hi = next_u32(), lo = next_u32();
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(hi << 32 | lo) * n) >> 64);
  }

  std::uint32_t at(std::uint64_t i) const {
    const std::uint64_t b = i / 4;
    const Philox::Block out =
        Philox::block({static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32),
                       static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)},
                      static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32));
    return out[i % 4];
  }
  static constexpr float to_unit(std::uint32_t u) { return static_cast<float>(u >> 8) * 0x1p-24f; }

 private:
  std::uint64_t seed_, stream_, position_ = 0;
};

}  // namespace veldt
