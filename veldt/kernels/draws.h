// Converts draws of 32 bits (core/rng.h) to numbers of a distribution. Plain double arithmetic, without libm
// and without branches, so that loops become SIMD and every processor gives the same numbers. Constexpr, so
// that CUDA kernels may call it.
// Tests: tests/cpu/random_test.cpp, tests/cuda/random_test.cpp
#pragma once

#include <bit>
#include <cstdint>

#include "veldt/core/backend.h"

namespace veldt::scalar {

// How many draws a number takes.
constexpr std::uint64_t draws_of(RandomKind kind, DType dtype) {
  const bool two = kind == RandomKind::normal || kind == RandomKind::permutation;
  return two || (kind == RandomKind::uniform && dtype == DType::f64) ? 2 : 1;
}

// A permutation of n (Rao 1961, Sandelius 1962): number i goes to the part that the upper bits of draw i
// name, after those already there, and each part, small enough for a cache, is shuffled (Durstenfeld 1964)
// from its first place to its last: the elements at place k of the result and at a place of its part up to
// there, chosen by draw n + k, are swapped.
constexpr int part_bits_of(std::int64_t n) {
  int bits = 0;
  while (bits < 16 && n >> (10 + bits) != 0) ++bits;  // about 512 in each
  return bits;
}
// 0 .. count - 1, the upper bits of a draw times count (Lemire 2019).
constexpr std::int64_t below(std::uint32_t draw, std::int64_t count) {
  return static_cast<std::int64_t>(draw * static_cast<std::uint64_t>(count) >> 32);
}

// Uniform in [0, 1), 53 bits.
constexpr double unit_of_two(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>(static_cast<std::int32_t>(high >> 5)) * 0x1p-27 +
         static_cast<double>(static_cast<std::int32_t>(low >> 6)) * 0x1p-53;
}

// -2 log(1 - u) for u of the upper 24 bits; 1 - u is never 0. With s = (m - 1) / (m + 1), log2(m) = s L(s^2)
// for m from sqrt(1/2) to sqrt(2); L was fitted for the smallest maximum relative error, 2e-16.
constexpr double minus_two_log(std::uint32_t draw) {
  constexpr double c[] = {2.8853900817779273122,  0.9617966939243235967,  0.5770780172507419869,
                          0.41219840139928765294, 0.32061643123506475693, 0.26144293058390925169,
                          0.24293121084475877792};
  const auto rest = static_cast<std::int32_t>((1u << 24) - (draw >> 8));  // 2^24 (1 - u)
  const auto bits = std::bit_cast<std::int64_t>(static_cast<double>(rest));
  constexpr std::int64_t kHalfRoot = 0x3fe6a09e667f3bcd;
  const std::int64_t e = (bits - kHalfRoot) >> 52;
  const double m = std::bit_cast<double>(bits - (e << 52)), s = (m - 1) / (m + 1), z = s * s;
  const double p = (((((c[6] * z + c[5]) * z + c[4]) * z + c[3]) * z + c[2]) * z + c[1]) * z + c[0];
  constexpr double kMinusTwoLog2 = -1.3862943611198906188;
  return kMinusTwoLog2 * (static_cast<double>(static_cast<std::int32_t>(e) - 24) + s * p);
}

// cos(2 pi u) = sin(2 pi w) for u of the upper 24 bits and w = |u - 1/2| - 1/4, which is exact. sin(2 pi w) /
// w of w^2 was fitted to the smallest largest relative error, 3e-19.
constexpr double cosine_of_turn(std::uint32_t draw) {
  constexpr double c[] = {6.2831853071795864753,  -41.341702240399756229,  81.605249276073406071,
                          -76.705859752798494188, 42.058693923785017379,   -15.094641620502254484,
                          3.8199270503300838442,  -0.71772357866690022386, 0.10085632474360905135};
  const std::int32_t from_half = static_cast<std::int32_t>(draw >> 8) - (1 << 23);
  const double w = static_cast<double>((from_half < 0 ? -from_half : from_half) - (1 << 22)) * 0x1p-24,
               z = w * w;
  const double high = (((c[8] * z + c[7]) * z + c[6]) * z + c[5]) * z + c[4];
  return w * ((((high * z + c[3]) * z + c[2]) * z + c[1]) * z + c[0]);
}

}  // namespace veldt::scalar
