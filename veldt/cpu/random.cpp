// Random numbers by position: element i is a pure function of (seed, stream, position + i), so pieces can be
// drawn in any order and by any number of threads. Sixteen blocks of Philox at a time, then plain loops,
// compiled for each instruction set; the numbers are the same on every processor.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/random.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/rows.h"
#include "veldt/kernels/draws.h"

HWY_BEFORE_NAMESPACE();
namespace veldt {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kBlocks = 16;            // of Philox, computed together
constexpr std::int64_t kPiece = 1024;  // draws in a buffer before they are converted to numbers

// The draws of blocks first .. first + kBlocks - 1, as in Philox::block(). Each word has a lane of 64 bits,
// of which a product reads the lower half, so it is one instruction and both of its halves are in place.
void draw_blocks(const Rng& rng, std::uint64_t first, std::uint32_t* draws) {
  const hn::CappedTag<std::uint64_t, kBlocks> d;
  using V = hn::Vec<decltype(d)>;
  const auto product = [&](V a, V b) {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(d, static_cast<std::uint32_t>(hn::GetLane(a)) * hn::GetLane(b));
#else
    const hn::Repartition<std::uint32_t, decltype(d)> words;
    return hn::MulEven(hn::BitCast(words, a), hn::BitCast(words, b));
#endif
  };
  const V by0 = hn::Set(d, 0xD2511F53u), by1 = hn::Set(d, 0xCD9E8D57u), low = hn::Set(d, 0xffffffffu);
  for (std::size_t b = 0; b < kBlocks; b += hn::Lanes(d)) {
    V c0 = hn::Add(hn::Set(d, first + b), hn::Iota(d, 0)), c1 = hn::ShiftRight<32>(c0);
    V c2 = hn::Set(d, rng.stream()), c3 = hn::Set(d, rng.stream() >> 32);
    auto key0 = static_cast<std::uint32_t>(rng.seed()), key1 = static_cast<std::uint32_t>(rng.seed() >> 32);
    for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u) {
      const V p0 = product(c0, by0), p1 = product(c2, by1);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), hn::Set(d, key0)), c1 = p1;
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), hn::Set(d, key1)), c3 = p0;
    }
    std::uint64_t pairs[2 * hn::MaxLanes(d)];
    hn::StoreInterleaved2(hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1)),
                          hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3)), d, pairs);
    std::memcpy(draws + 4 * b, pairs, 2 * hn::Lanes(d) * sizeof(std::uint64_t));
  }
}

// numbers(draws, out + i, m) makes numbers i .. i + m - 1, each of kDraws draws, of those from `first` on.
template <int kDraws, class T, class Numbers>
void draw_row(const Rng& rng, std::uint64_t first, T* out, std::int64_t n, const Numbers& numbers) {
  alignas(8) std::uint32_t draws[kPiece + 4 * kBlocks];
  for (std::int64_t i = 0; i < n; i += kPiece / kDraws) {
    const std::int64_t m = std::min(kPiece / kDraws, n - i);
    const std::uint64_t at = first + static_cast<std::uint64_t>(kDraws * i);
    const auto skip = static_cast<std::int64_t>(at % 4), needed = skip + kDraws * m;
    for (std::int64_t k = 0; k < needed; k += 4 * kBlocks)
      draw_blocks(rng, (at + static_cast<std::uint64_t>(k)) / 4, draws + k);
    numbers(draws + skip, out + i, m);
  }
}

template <class T> void words(const std::uint32_t* __restrict draws, T* __restrict out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(draws[i]);
}

void uniforms(const std::uint32_t* __restrict draws, float* __restrict out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(static_cast<std::int32_t>(draws[i] >> 8)) * 0x1p-24f;
}

void uniforms(const std::uint32_t* __restrict draws, double* __restrict out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = scalar::unit_of_two(draws[2 * i], draws[2 * i + 1]);
}

// Box & Muller 1958: sqrt(-2 log(1 - u1)) cos(2 pi u2)
template <class T> void normals(const std::uint32_t* __restrict draws, T* __restrict out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = static_cast<T>(std::sqrt(scalar::minus_two_log(draws[2 * i])) *
                            scalar::cosine_of_turn(draws[2 * i + 1]));
}

template <class T>
void random_row(RandomKind kind, const Rng& rng, std::uint64_t first, void* to, std::int64_t n) {
  T* out = static_cast<T*>(to);
  if constexpr (std::is_integral_v<T>)
    draw_row<1>(rng, first, out, n, words<T>);
  else if (kind == RandomKind::normal)
    draw_row<2>(rng, first, out, n, normals<T>);
  else
    draw_row<static_cast<int>(scalar::draws_of(RandomKind::uniform, dtype_of<T>))>(
        rng, first, out, n,
        [](const std::uint32_t* draws, T* part, std::int64_t m) { uniforms(draws, part, m); });
}

cpu::RandomRow random_row_of(DType dtype) {
  if (dtype == DType::f32) return &random_row<float>;
  if (dtype == DType::f64) return &random_row<double>;
  return &random_row<std::int64_t>;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace veldt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt {
namespace {
VELDT_EXPORT(random_row_of);
}
namespace cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 13;  // about 10 us of uniform draws

// Calls body(i, draw) for draws begin .. end - 1 of those from `first` on.
template <class Body>
void for_each_draw(const Rng& rng, std::uint64_t first, std::int64_t begin, std::int64_t end,
                   const Body& body) {
  constexpr std::int64_t kDraws = 512;
  const RandomRow row = VELDT_DISPATCH(random_row_of)(DType::i64);
  std::int64_t draws[kDraws];
  for (std::int64_t i = begin; i < end; i += kDraws) {
    const std::int64_t m = std::min(kDraws, end - i);
    row(RandomKind::word, rng, first + static_cast<std::uint64_t>(i), draws, m);
    for (std::int64_t k = 0; k < m; ++k) body(i + k, static_cast<std::uint32_t>(draws[k]));
  }
}

// As described in kernels/draws.h. Pieces count the numbers of each part, then place theirs after those of
// the earlier pieces.
void permute(const Rng& rng, std::uint64_t position, std::int64_t* out, std::int64_t n) {
  if (n == 0) return;
  const std::int64_t parts = std::int64_t{1} << scalar::part_bits_of(n);
  const std::int64_t piece = std::max<std::int64_t>(1 << 16, n / 32), pieces = (n + piece - 1) / piece;
  std::vector<std::int64_t> ends(static_cast<std::size_t>(pieces * parts));
  const auto place = [&](const auto& put) {
    parallel_for(n, piece, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t* const own = ends.data() + begin / piece * parts;
      for_each_draw(rng, position, begin, end,
                    [&](std::int64_t i, std::uint32_t draw) { put(own[scalar::below(draw, parts)]++, i); });
    });
  };
  place([](std::int64_t, std::int64_t) {});
  std::int64_t before = 0;
  for (std::int64_t part = 0; part < parts; ++part)
    for (std::int64_t p = 0; p < pieces; ++p)
      before += std::exchange(ends[static_cast<std::size_t>(p * parts + part)], before);
  place([&](std::int64_t to, std::int64_t i) { out[to] = i; });
  const std::int64_t* const end_of = ends.data() + (pieces - 1) * parts;
  parallel_for(parts, std::max<std::int64_t>(1, parts / 64), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      const std::int64_t begin = part > 0 ? end_of[part - 1] : 0;
      for_each_draw(rng, position + static_cast<std::uint64_t>(n), begin, end_of[part],
                    [&](std::int64_t k, std::uint32_t draw) {
                      std::swap(out[k], out[begin + scalar::below(draw, k - begin + 1)]);
                    });
    }
  });
}

}  // namespace

void random(RandomKind kind, std::uint64_t seed, std::uint64_t rng_stream, std::uint64_t position,
            const View& out) {
  const bool whole = kind == RandomKind::word || kind == RandomKind::permutation;
  if (whole ? out.dtype != DType::i64 : out.dtype != DType::f32 && out.dtype != DType::f64)
    refuse_dtype(kName, "random numbers", out.dtype, kF32F64);
  const Rng rng(seed, rng_stream);
  const std::int64_t n = numel(out.shape);
  if (kind == RandomKind::permutation) return permute(rng, position, out.as<std::int64_t>(), n);
  const RandomRow row = VELDT_DISPATCH(random_row_of)(out.dtype);
  const auto bytes = static_cast<std::int64_t>(size_of(out.dtype));
  const std::uint64_t each = scalar::draws_of(kind, out.dtype);
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    row(kind, rng, position + each * static_cast<std::uint64_t>(begin), out.as<char>() + begin * bytes,
        end - begin);
  });
}

}  // namespace cpu
}  // namespace veldt
#endif
