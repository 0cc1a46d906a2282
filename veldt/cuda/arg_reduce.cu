// Where the largest and smallest elements are.
#include "veldt/cuda/fold-inl.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/scratch.h"
#include "veldt/kernels/order_key.h"

namespace veldt::cuda {
namespace {

struct Found {
  std::uint64_t key;
  std::int64_t position;
};

// The first position with the largest key. Of partial results the position is their own.
struct Best {
  using State = Found;
  bool largest;
  __device__ Found start() const { return {0, std::int64_t{1} << 62}; }
  template <class T> __device__ Found of(T x, std::int64_t position) const {
    return {rank_key(x, largest), position};
  }
  __device__ Found of(Found x, std::int64_t) const { return x; }
  __device__ Found join(Found a, Found b) const {
    return b.key > a.key || (b.key == a.key && b.position < a.position) ? b : a;
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    arg_reduce_kernel(Lines l, Best fold, const T* x, Found* partials, std::int64_t* out) {
  GPU_SHARED(Found, shared, kThreads);
  fold_lines(fold, l, x, partials, shared,
             [&](std::int64_t at, const Found& best) { out[at] = best.position; });
}

template <class T> void run_arg_reduce(ReduceOp op, const View& x, int dim, const View& out) {
  const Lines l = lines_of(x, out, 1u << dim, true);
  const Best fold{op == ReduceOp::max};
  const Scratch memory(static_cast<std::size_t>(l.chunks > 1 ? l.chunks * l.kept.count : 0) * sizeof(Found));
  Found* const partials = memory.as<Found>();
  auto* const to = out.as<std::int64_t>();
  launch(arg_reduce_kernel<T>, l.blocks(), kThreads, 0, l, fold, x.as<const T>(), partials, to);
  if (l.chunks == 1) return;
  const Lines second = lines_of_partials(l);
  launch(arg_reduce_kernel<Found>, second.blocks(), kThreads, 0, second, fold, partials, partials, to);
}

}  // namespace

void arg_reduce(ReduceOp op, const View& x, int dim, const View& out) {
  if (numel(out.shape) == 0) return;
  switch (x.dtype) {
    case DType::f32: return run_arg_reduce<float>(op, x, dim, out);
    case DType::f64: return run_arg_reduce<double>(op, x, dim, out);
    case DType::i64: return run_arg_reduce<std::int64_t>(op, x, dim, out);
    case DType::i32: return run_arg_reduce<std::int32_t>(op, x, dim, out);
    case DType::i8: return run_arg_reduce<std::int8_t>(op, x, dim, out);
    case DType::u8:
    case DType::boolean: return run_arg_reduce<std::uint8_t>(op, x, dim, out);
    case DType::bf16: return run_arg_reduce<scalar::BFloat16>(op, x, dim, out);
    case DType::f16: return run_arg_reduce<scalar::Float16>(op, x, dim, out);
  }
}

}  // namespace veldt::cuda
