// Random numbers by position: element i is a pure function of (seed, stream, position + i), so pieces can be
// drawn in any order and by any number of threads. Plain scalar code, with the normal's logarithm and cosine
// in double, so that every processor draws the same numbers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"

namespace veldt::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 13;  // about 20 us of uniform draws

// Draws first .. first + n - 1 of rng's stream, a Philox block of four at a time.
template <class Each>
void for_each_draw(const Rng& rng, std::uint64_t first, std::int64_t n, const Each& each) {
  std::int64_t i = 0;
  for (; i < n && (first + static_cast<std::uint64_t>(i)) % 4 != 0; ++i)
    each(i, rng.at(first + static_cast<std::uint64_t>(i)));
  const auto word = [](std::uint64_t v, int shift) { return static_cast<std::uint32_t>(v >> shift); };
  for (; i + 4 <= n; i += 4) {
    const std::uint64_t b = (first + static_cast<std::uint64_t>(i)) / 4;
    const Philox::Block block =
        Philox::block({word(b, 0), word(b, 32), word(rng.stream(), 0), word(rng.stream(), 32)},
                      word(rng.seed(), 0), word(rng.seed(), 32));
    for (std::size_t lane = 0; lane < 4; ++lane) each(i + static_cast<std::int64_t>(lane), block[lane]);
  }
  for (; i < n; ++i) each(i, rng.at(first + static_cast<std::uint64_t>(i)));
}

template <class T> void uniform(const Rng& rng, std::uint64_t first, T* out, std::int64_t n) {
  for_each_draw(rng, first, n,
                [&](std::int64_t i, std::uint32_t draw) { out[i] = static_cast<T>(Rng::to_unit(draw)); });
}

// Box & Muller 1958: sqrt(-2 ln(1 - u1)) cos(2 pi u2); 1 - u1 is never 0.
template <class T> void normal(const Rng& rng, std::uint64_t first, T* out, std::int64_t n) {
  double radius = 0;
  for_each_draw(rng, first, 2 * n, [&](std::int64_t i, std::uint32_t draw) {
    const double u = static_cast<double>(Rng::to_unit(draw));
    if (i % 2 == 0)
      radius = std::sqrt(-2.0 * std::log(1.0 - u));
    else
      out[i / 2] = static_cast<T>(radius * std::cos(2.0 * std::numbers::pi * u));
  });
}

template <class T> void draw(RandomKind kind, const Rng& rng, std::uint64_t position, const View& out) {
  parallel_for(numel(out.shape), kGrain, [&](std::int64_t begin, std::int64_t end) {
    const std::uint64_t skip = static_cast<std::uint64_t>(begin);
    if constexpr (std::is_integral_v<T>)
      for_each_draw(rng, position + skip, end - begin, [&](std::int64_t i, std::uint32_t word) {
        out.as<T>()[begin + i] = static_cast<T>(word);
      });
    else if (kind == RandomKind::uniform)
      uniform(rng, position + skip, out.as<T>() + begin, end - begin);
    else
      normal(rng, position + 2 * skip, out.as<T>() + begin, end - begin);
  });
}

}  // namespace

void random(RandomKind kind, std::uint64_t seed, std::uint64_t rng_stream, std::uint64_t position,
            const View& out, Stream) {
  const Rng rng(seed, rng_stream);
  if (out.dtype == DType::f32) return draw<float>(kind, rng, position, out);
  if (out.dtype == DType::i64 && kind == RandomKind::word)
    return draw<std::int64_t>(kind, rng, position, out);
  if (out.dtype == DType::f64) return draw<double>(kind, rng, position, out);
  throw DeviceError(str("the cpu cannot draw random numbers as ", out.dtype), "it draws f32 and f64",
                    "draw f32 and convert");
}

}  // namespace veldt::cpu
