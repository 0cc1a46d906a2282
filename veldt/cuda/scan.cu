// Linear recurrences along one dimension: cumulative sums, cumulative products, and the gradients of both.
//
// With factors, and of products, a line is one thread's: joining pieces would multiply factors that the
// running value never meets in one product, and overflow where it does not. Long running sums are cut: the
// sums of the pieces, their running sums, and each piece from there on.
#include "veldt/cuda/axes.h"
#include "veldt/cuda/block_scan-inl.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/scratch.h"
#include "veldt/kernels/convert.h"

namespace veldt::cuda {
namespace {

// The lines of x, factor and out (without a factor: of x twice), and how a line is walked.
struct Scan {
  Axes lines;
  std::int64_t length, strides[3];
  bool reverse;
  std::int64_t chunk, chunks;

  __host__ __device__ std::int64_t position(std::int64_t k) const { return reverse ? length - 1 - k : k; }
};

// State: what the running value is kept in; unsigned for whole numbers, because overflow wraps.
template <class State, class T> __device__ State state_of(T x) { return static_cast<State>(scalar::load(x)); }
template <class T, class State> __device__ T stored(State state) {
  if constexpr (std::is_integral_v<State>)
    return static_cast<T>(state);
  else
    return scalar::store<T>(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(state));
}

template <class T, class State>
__global__ void __launch_bounds__(kThreads)
    line_kernel(Scan s, bool product, const T* x, const T* factor, T* out) {
  for (std::int64_t line = first_element(); line < s.lines.count; line += element_step()) {
    std::int64_t at[3];
    offsets_of(s.lines, line, at);
    State state = 0;
    for (std::int64_t k = 0; k < s.length; ++k) {
      const std::int64_t i = s.position(k);
      const State step = state_of<State>(x[at[0] + i * s.strides[0]]);
      // The first has nothing before it: an infinite factor must not meet that 0.
      if (k == 0)
        state = step;
      else if (product)
        state *= step;
      else if (factor != nullptr)
        state = state_of<State>(factor[at[1] + i * s.strides[1]]) * state + step;
      else
        state += step;
      out[at[2] + i * s.strides[2]] = stored<T>(state);
    }
  }
}

// The sums of the pieces [lines, chunks].
template <class T, class State>
__global__ void __launch_bounds__(kThreads) piece_kernel(Scan s, const T* x, State* sums) {
  GPU_SHARED(State, shared, kWarps);
  for (std::int64_t item = blockIdx.x; item < s.lines.count * s.chunks; item += gridDim.x) {
    const std::int64_t line = item / s.chunks, begin = (item - line * s.chunks) * s.chunk;
    const std::int64_t end = begin + s.chunk < s.length ? begin + s.chunk : s.length;
    std::int64_t at[1];
    offsets_of(s.lines, line, at);
    State own = 0, total;
    for (std::int64_t k = begin + threadIdx.x; k < end; k += kThreads)
      own += state_of<State>(x[at[0] + s.position(k) * s.strides[0]]);
    scan_block(own, shared, &total);
    if (threadIdx.x == 0) sums[item] = total;
  }
}

// The running sums of each piece; ends: where the pieces end [lines, chunks], null if each line is one piece.
template <class T, class State>
__global__ void __launch_bounds__(kThreads) sum_kernel(Scan s, const T* x, const State* ends, T* out) {
  GPU_SHARED(State, shared, kWarps);
  for (std::int64_t item = blockIdx.x; item < s.lines.count * s.chunks; item += gridDim.x) {
    const std::int64_t line = item / s.chunks, piece = item - line * s.chunks, begin = piece * s.chunk;
    const std::int64_t end = begin + s.chunk < s.length ? begin + s.chunk : s.length;
    std::int64_t at[3];
    offsets_of(s.lines, line, at);
    State before = piece > 0 ? ends[item - 1] : State(0);
    for (std::int64_t first = begin; first < end; first += kThreads) {
      const std::int64_t k = first + threadIdx.x, i = s.position(k);
      const State own = k < end ? state_of<State>(x[at[0] + i * s.strides[0]]) : State(0);
      State total;
      const State sum = scan_block(own, shared, &total);
      if (k < end) out[at[2] + i * s.strides[2]] = stored<T>(before + sum);
      before += total;
    }
  }
}

Scan scan_of(const View& x, const View& factor, int dim, bool reverse, const View& out) {
  constexpr std::int64_t kPiece = 4096, kMostPieces = 512;
  Scan s{};
  s.lines = axes_of({&x, &factor, &out}, ~(1u << dim));
  s.length = x.shape[dim];
  s.strides[0] = x.strides[dim];
  s.strides[1] = factor.strides[dim];
  s.strides[2] = out.strides[dim];
  s.reverse = reverse;
  s.chunk = std::max(kPiece, (s.length + kMostPieces - 1) / kMostPieces);
  s.chunks = (s.length + s.chunk - 1) / s.chunk;
  return s;
}

// Whether a thread a line is enough, and gives the bits that the CPU does; or better, because there are many
// lines and their elements are not neighbours.
bool line_by_line(const Scan& s) {
  constexpr std::int64_t kShort = 256, kMany = 4096;
  return s.length <= kShort || (s.lines.count >= kMany && s.strides[0] != 1);
}

template <class T, class State>
void run_recurrence(bool product, const View& x, const View* factor, int dim, bool reverse, const View& out) {
  const Scan s = scan_of(x, factor ? *factor : x, dim, reverse, out);
  const T *from = x.as<const T>(), *by = factor ? factor->as<const T>() : nullptr;
  if (factor || product || line_by_line(s)) {
    launch(line_kernel<T, State>, blocks_for(s.lines.count), kThreads, 0, s, product, from, by, out.as<T>());
    return;
  }
  const std::int64_t pieces = s.lines.count * s.chunks;
  const Scratch memory(static_cast<std::size_t>(s.chunks > 1 ? pieces : 0) * sizeof(State));
  if (s.chunks > 1) {
    launch(piece_kernel<T, State>, blocks_for(pieces * kThreads), kThreads, 0, s, from, memory.as<State>());
    const View ends{memory.as<State>(), DType::f64, {s.lines.count, s.chunks}, {s.chunks, 1}};
    const Scan second = scan_of(ends, ends, 1, false, ends);
    State* const sums = memory.as<State>();
    launch(line_kernel<State, State>, blocks_for(s.lines.count), kThreads, 0, second, false, sums, nullptr,
           sums);
  }
  launch(sum_kernel<T, State>, blocks_for(pieces * kThreads), kThreads, 0, s, from, memory.as<State>(),
         out.as<T>());
}

}  // namespace

void recurrence(ReduceOp op, const View& x, const View* factor, int dim, bool reverse, const View& out) {
  if (numel(out.shape) == 0) return;
  const bool product = op == ReduceOp::prod;
  const auto run = [&](auto type, auto state) {
    run_recurrence<decltype(type), decltype(state)>(product, x, factor, dim, reverse, out);
  };
  switch (x.dtype) {
    case DType::f32: return run(float(), double());
    case DType::f64: return run(double(), double());
    case DType::bf16: return run(scalar::BFloat16(), float());
    case DType::f16: return run(scalar::Float16(), float());
    default: return run(std::int64_t(), std::uint64_t());  // i64
  }
}

}  // namespace veldt::cuda
