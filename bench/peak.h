// How fast this machine multiplies and adds right now: bursts of independent multiply-adds in registers, on
// all threads, for a few milliseconds. A training step's speed is compared with the best of them; a burst
// well below the best shows that other jobs are running.
#pragma once

#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

#include "veldt/veldt.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace veldt::bench {

struct Peak {
  const char* unit = "none";
  double gflops = 0;
};

// A burst returns a number that depends on all that it computed, so that nothing is left out.
struct Burst {
  const char* unit = "none";
  double (*run)() = nullptr;
  double flops = 0;  // of one run
};

constexpr int kChains = 16, kTurns = 1000;         // enough chains to cover the latency of two units
constexpr double kBurst = 2.0 * kChains * kTurns;  // flops for each number that a register holds

// Each chain starts from another number: of equal ones the compiler would compute one. First in registers of
// four numbers, which every processor has in some form.
inline double burst_of_4() {
  using Four = float __attribute__((vector_size(16)));
  constexpr int kRegisters = 12;
  Four sums[kRegisters];
  for (int i = 0; i < kRegisters; ++i) sums[i] = Four{} + static_cast<float>(i);
  const Four factor = Four{} + 0.999F, term = Four{} + 0.001F;
  for (int turn = 0; turn < kTurns; ++turn)
#pragma GCC unroll 12
    for (Four& sum : sums) sum = sum * factor + term;
  double total = 0;
  for (const Four& sum : sums) total += static_cast<double>(sum[0]);
  return total;
}

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) inline double burst_of_8() {
  constexpr int kRegisters = 12;
  __m256 sums[kRegisters];
  for (int i = 0; i < kRegisters; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 factor = _mm256_set1_ps(0.999F), term = _mm256_set1_ps(0.001F);
  for (int turn = 0; turn < kTurns; ++turn)
#pragma GCC unroll 12
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, term);
  double total = 0;
  for (const __m256& sum : sums) total += static_cast<double>(_mm256_cvtss_f32(sum));
  return total;
}

__attribute__((target("avx512f"))) inline double burst_of_16() {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 factor = _mm512_set1_ps(0.999F), term = _mm512_set1_ps(0.001F);
  for (int turn = 0; turn < kTurns; ++turn)
#pragma GCC unroll 16
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, term);
  double total = 0;
  for (const __m512& sum : sums) total += static_cast<double>(_mm512_cvtss_f32(sum));
  return total;
}

__attribute__((target("avx512f,avx512bf16"))) inline double burst_of_pairs() {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const auto left = (__m512bh)_mm512_set1_epi32(0x3f803f80), right = left;  // two ones
  for (int turn = 0; turn < kTurns; ++turn)
#pragma GCC unroll 16
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, left, right);
  double total = 0;
  for (const __m512& sum : sums) total += static_cast<double>(_mm512_cvtss_f32(sum));
  return total;
}

// Four tiles of sums, two of left sides and two of right ones; each product is 16 x 16 sums of 32 terms.
// Linux lent the tiles to this process when has_products(.., bf16) was asked.
__attribute__((target("avx512f,amx-tile,amx-bf16"))) inline double burst_of_tiles() {
  struct alignas(64) Config {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t bytes_a_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  static constexpr Config config;
  alignas(64) std::uint32_t ones[16 * 16];
  for (std::uint32_t& pair : ones) pair = 0x3f803f80;
  alignas(64) float sums[16 * 16];
  asm volatile("ldtilecfg %0" ::"m"(config) : "memory");
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, ones, 64);
  _tile_loadd(5, ones, 64);
  _tile_loadd(6, ones, 64);
  _tile_loadd(7, ones, 64);
  for (int turn = 0; turn < kTurns / 10; ++turn) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(3, sums, 64);
  _tile_release();
  asm volatile("" ::: "memory");
  return static_cast<double>(sums[0]);
}

inline bool has_tiles() {
  unsigned a, b, c, d = 0;
  asm("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
  return (d >> 22 & 1) != 0 && (d >> 24 & 1) != 0;  // AMX-BF16, AMX-TILE
}

inline Burst f32_burst() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return {"AVX-512 FMA, 512 bits", burst_of_16, kBurst * 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {"AVX2 FMA, 256 bits", burst_of_8, kBurst * 8 * 12 / kChains};
  return {"multiply and add, 128 bits", burst_of_4, kBurst * 4 * 12 / kChains};
}
inline Burst bf16_burst() {
  if (!has_products(Device{}, Precision::bf16)) return {};
  if (has_tiles()) return {"AMX TDPBF16PS", burst_of_tiles, 4.0 * kTurns / 10 * 2 * 16 * 16 * 32};
  return {"AVX-512 VDPBF16PS, 512 bits", burst_of_pairs, kBurst * 32};
}
#else
inline Burst f32_burst() { return {"multiply and add, 128 bits", burst_of_4, kBurst * 4 * 12 / kChains}; }
inline Burst bf16_burst() { return {}; }
#endif

// Bursts on all threads until `seconds` have passed; the wall time counts, a thread that has to wait too.
inline Peak measure(const Burst& burst, double seconds) {
  using Clock = std::chrono::steady_clock;
  if (!burst.run) return {};
  const int threads = num_threads();
  struct alignas(64) Count {
    std::int64_t bursts = 0;
    double sum = 0;
  };
  std::vector<Count> counts(static_cast<std::size_t>(threads));
  Clock::time_point start;
  const auto work = [&](std::int64_t thread, std::int64_t) {
    Count& mine = counts[static_cast<std::size_t>(thread)];
    do {
      mine.sum += burst.run();
      ++mine.bursts;
    } while (std::chrono::duration<double>(Clock::now() - start).count() < seconds);
  };
  start = Clock::now() - std::chrono::hours(1);  // one burst each, to wake the threads
  parallel_for(threads, 1, work);
  counts.assign(counts.size(), {});
  start = Clock::now();
  parallel_for(threads, 1, work);
  const double spent = std::chrono::duration<double>(Clock::now() - start).count();
  const auto done = std::accumulate(counts.begin(), counts.end(), std::int64_t{0},
                                    [](std::int64_t n, const Count& c) { return n + c.bursts; });
  return {burst.unit, static_cast<double>(done) * burst.flops / spent * 1e-9};
}

}  // namespace veldt::bench
