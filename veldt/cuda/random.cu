// Random numbers by position: the draws of core/rng.h, each a pure function of (seed, stream, position).
#include <cmath>

#include "veldt/core/rng.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/numbers.h"
#include "veldt/cuda/radix.h"
#include "veldt/cuda/runtime.h"
#include "veldt/kernels/draws.h"

namespace veldt::cuda {
namespace {

// Draw `position` and those behind it, of a seed and a stream.
struct Draws {
  std::uint64_t seed = 0, stream = 0, position = 0;

  __device__ Philox::Block block(std::uint64_t index) const {
    const auto word = [](std::uint64_t v, int shift) { return static_cast<std::uint32_t>(v >> shift); };
    return Philox::block({word(index, 0), word(index, 32), word(stream, 0), word(stream, 32)}, word(seed, 0),
                         word(seed, 32));
  }
};

// Uniform floats, or the draws themselves as whole numbers. A thread takes a block of four draws, of which
// the first and the last thread may need a part.
template <class T>
__global__ void __launch_bounds__(kThreads) draw_kernel(Numbers<Draws> numbers, std::int64_t n, T* out) {
  const Draws d = numbers();
  const std::uint64_t first = d.position / 4;
  const auto skip = static_cast<std::int64_t>(d.position % 4), blocks = (skip + n + 3) / 4;
  for (std::int64_t b = first_element(); b < blocks; b += element_step()) {
    const Philox::Block block = d.block(first + static_cast<std::uint64_t>(b));
    for (int lane = 0; lane < 4; ++lane) {
      const std::int64_t i = 4 * b + lane - skip;
      if (i < 0 || i >= n) continue;
      if constexpr (std::is_integral_v<T>)
        out[i] = static_cast<T>(block[lane]);
      else
        out[i] = static_cast<T>(Rng::to_unit(block[lane]));
    }
  }
}

// Four draws from `first` on. They lie in two blocks unless the first begins one.
__device__ inline Philox::Block four_draws(const Draws& d, std::uint64_t first) {
  Philox::Block draws = d.block(first / 4), next = draws;
  const auto skip = static_cast<int>(first % 4);
  if (skip > 0) next = d.block(first / 4 + 1);
  for (int turn = 0; turn < 3; ++turn)  // an array with a changing index would lie in memory
    if (turn < skip) {
      draws = {draws[1], draws[2], draws[3], next[0]};
      next = {next[1], next[2], next[3], 0};
    }
  return draws;
}

// Numbers of two draws each: normal ones (Box & Muller 1958, in double, for they must not depend on the
// processor) or uniform f64. A thread takes the draws of two numbers.
template <class T, bool kNormal>
__global__ void __launch_bounds__(kThreads) pair_kernel(Numbers<Draws> numbers, std::int64_t n, T* out) {
  const Draws d = numbers();
  const auto number = [](std::uint32_t u1, std::uint32_t u2) {
    if constexpr (kNormal)
      return static_cast<T>(sqrt(scalar::minus_two_log(u1)) * scalar::cosine_of_turn(u2));
    else
      return static_cast<T>(scalar::unit_of_two(u1, u2));
  };
  for (std::int64_t i = 2 * first_element(); i < n; i += 2 * element_step()) {
    const Philox::Block u = four_draws(d, d.position + 2 * static_cast<std::uint64_t>(i));
    out[i] = number(u[0], u[1]);
    if (i + 1 < n) out[i + 1] = number(u[2], u[3]);
  }
}

// Draw i alone.
__device__ inline std::uint32_t draw_at(const Draws& d, std::uint64_t i) {
  const Philox::Block block = d.block(i / 4);
  const auto lane = static_cast<int>(i % 4);  // an array with a changing index would lie in memory
  return lane < 2 ? (lane == 0 ? block[0] : block[1]) : (lane == 2 ? block[2] : block[3]);
}

__global__ void __launch_bounds__(kThreads)
    part_kernel(Numbers<Draws> numbers, std::int64_t n, std::int64_t parts, std::uint64_t* part_of) {
  const Draws d = numbers();
  for (std::int64_t i = first_element(); i < n; i += element_step()) {
    const std::uint32_t draw = draw_at(d, d.position + static_cast<std::uint64_t>(i));
    part_of[i] = static_cast<std::uint64_t>(scalar::below(draw, parts));
  }
}

// A thread whose place begins a part shuffles it.
__global__ void __launch_bounds__(kThreads)
    shuffle_kernel(Numbers<Draws> numbers, std::int64_t n, const std::uint64_t* part_of,
                   const std::int64_t* parted, std::int64_t* out) {
  const Draws d = numbers();
  for (std::int64_t begin = first_element(); begin < n; begin += element_step()) {
    const std::uint64_t part = part_of[begin];
    if (begin > 0 && part_of[begin - 1] == part) continue;
    for (std::int64_t k = begin; k < n && part_of[k] == part; ++k) {
      const std::uint32_t draw = draw_at(d, d.position + static_cast<std::uint64_t>(n + k));
      const std::int64_t other = begin + scalar::below(draw, k - begin + 1);
      if (other != k) out[k] = out[other];
      out[other] = parted[k];
    }
  }
}

// As kernels/draws.h has it.
void permute(const Draws& d, const View& out) {
  const std::int64_t n = numel(out.shape), parts = std::int64_t{1} << scalar::part_bits_of(n);
  if (n == 0) return;
  const auto numbers = numbers_of_step(d);
  if (!numbers) return;
  Sorted sorted(n, static_cast<std::uint64_t>(parts - 1));
  launch(part_kernel, blocks_for(n), kThreads, 0, *numbers, n, parts, sorted.keys());
  sorted.sort();
  launch(shuffle_kernel, blocks_for(n), kThreads, 0, *numbers, n, sorted.keys(), sorted.positions(),
         out.as<std::int64_t>());
}

template <class T> void draw(RandomKind kind, const Draws& d, const View& out) {
  const std::int64_t n = numel(out.shape);
  if (n == 0) return;
  const auto numbers = numbers_of_step(d);
  if (!numbers) return;
  if constexpr (!std::is_integral_v<T>)
    if (kind == RandomKind::normal)
      return launch(pair_kernel<T, true>, blocks_for(n / 2 + 1), kThreads, 0, *numbers, n, out.as<T>());
  if constexpr (std::is_same_v<T, double>)
    launch(pair_kernel<T, false>, blocks_for(n / 2 + 1), kThreads, 0, *numbers, n, out.as<T>());
  else
    launch(draw_kernel<T>, blocks_for(n / 4 + 2), kThreads, 0, *numbers, n, out.as<T>());
}

}  // namespace

void random(RandomKind kind, std::uint64_t seed, std::uint64_t rng_stream, std::uint64_t position,
            const View& out) {
  const Draws draws = {seed, rng_stream, position};
  if (out.dtype == DType::f32) return draw<float>(kind, draws, out);
  if (out.dtype == DType::i64 && kind == RandomKind::permutation) return permute(draws, out);
  if (out.dtype == DType::i64 && kind == RandomKind::word) return draw<std::int64_t>(kind, draws, out);
  if (out.dtype == DType::f64) return draw<double>(kind, draws, out);
  refuse_dtype(kName, "random numbers", out.dtype, kF32F64);
}

}  // namespace veldt::cuda
