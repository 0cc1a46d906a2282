// Sums, means, products, maxima and minima over any subset of dimensions, and the range of an index.
#include <type_traits>

#include "veldt/cuda/fold-inl.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/scratch.h"
#include "veldt/kernels/convert.h"
#include "veldt/kernels/reduction.h"

namespace veldt::cuda {
namespace {

// In doubles or in i64, whose overflow wraps. The op is looked at for each element, so that one kernel serves
// all; `first` is the result of nothing.
template <class Acc> struct Reduction {
  using State = Acc;
  using Wrapping = std::conditional_t<std::is_integral_v<Acc>, std::uint64_t, Acc>;
  ReduceOp op;
  Acc first;

  __device__ Acc start() const { return first; }
  template <class T> __device__ Acc of(T x, std::int64_t) const {
    const auto number = static_cast<Acc>(scalar::load(x));
    return op == ReduceOp::norm ? number * number : number;
  }
  __device__ Acc join(Acc a, Acc b) const {
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::mean:
      case ReduceOp::norm: return static_cast<Acc>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
      case ReduceOp::prod: return static_cast<Acc>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
      // A NaN wins: it is taken where it appears, and nothing compares greater than it afterwards.
      case ReduceOp::max: return b > a || b != b ? b : a;
      default: return b < a || b != b ? b : a;
    }
  }
};

template <class Acc> __device__ void store(Acc value, void* out, DType to, std::int64_t at) {
  if constexpr (std::is_same_v<Acc, double>) {
    if (to == DType::f32)
      static_cast<float*>(out)[at] = static_cast<float>(value);
    else
      static_cast<double*>(out)[at] = value;
  } else {
    if (to == DType::i64)
      static_cast<std::int64_t*>(out)[at] = value;
    else if (to == DType::i32)
      static_cast<std::int32_t*>(out)[at] = static_cast<std::int32_t>(value);
    else
      static_cast<std::uint8_t*>(out)[at] = static_cast<std::uint8_t>(value);
  }
}

// Where results go, and what becomes of them.
template <class Acc> struct Target {
  void* out;
  DType dtype;
  Acc divisor;
  bool root;

  __device__ Acc finished(Acc all) const {
    if constexpr (std::is_floating_point_v<Acc>)
      if (root) return ::sqrt(all);
    return divisor == 1 ? all : all / divisor;
  }
};

template <class T, class Acc>
__global__ void __launch_bounds__(kThreads)
    reduce_kernel(Lines l, Reduction<Acc> fold, const T* x, Acc* partials, Target<Acc> to) {
  GPU_SHARED(Acc, shared, kThreads);
  fold_lines(fold, l, x, partials, shared,
             [&](std::int64_t at, Acc all) { store(to.finished(all), to.out, to.dtype, at); });
}

template <class T, class Acc> void run_reduce(ReduceOp op, const View& x, const View& out) {
  unsigned along = 0;
  for (int d = 0; d < x.shape.rank(); ++d)
    if (out.shape[d] == 1) along |= 1u << d;
  Reduction<Acc> fold{op, scalar::reduction_start<Acc>(op)};
  Target<Acc> to{out.data, out.dtype, 1, op == ReduceOp::norm};
  if (op == ReduceOp::mean) to.divisor = static_cast<Acc>(numel(x.shape) / numel(out.shape));
  const Lines l = lines_of(x, out, along, true);
  const Scratch memory(static_cast<std::size_t>(l.chunks > 1 ? l.chunks * l.kept.count : 0) * sizeof(Acc));
  Acc* const partials = memory.as<Acc>();
  launch(reduce_kernel<T, Acc>, l.blocks(), kThreads, 0, l, fold, x.as<const T>(), partials, to);
  if (l.chunks == 1) return;
  const Lines second = lines_of_partials(l);
  if (op == ReduceOp::norm) fold.op = ReduceOp::sum;  // the partial results are sums
  launch(reduce_kernel<Acc, Acc>, second.blocks(), kThreads, 0, second, fold, partials, partials, to);
}

}  // namespace

void reduce(ReduceOp op, const View& x, const View& out) {
  if (numel(out.shape) == 0) return;
  const DType from = x.dtype, to = out.dtype;
  const bool bytes = from == DType::u8 || from == DType::boolean;
  if (from == DType::f32 && to == from) return run_reduce<float, double>(op, x, out);
  if (from == DType::f64 && to == from) return run_reduce<double, double>(op, x, out);
  const bool wide = to == DType::f32 || to == DType::f64;
  if (from == DType::bf16 && wide) return run_reduce<scalar::BFloat16, double>(op, x, out);
  if (from == DType::f16 && wide) return run_reduce<scalar::Float16, double>(op, x, out);
  if (op == ReduceOp::norm) refuse_dtype(kName, "norm", from, kFloats);
  if (from == DType::i64 && to == from) return run_reduce<std::int64_t, std::int64_t>(op, x, out);
  if (from == DType::i32 && (to == DType::i64 || to == from))
    return run_reduce<std::int32_t, std::int64_t>(op, x, out);
  if (bytes && (to == DType::i64 || (to == from && op != ReduceOp::sum)))
    return run_reduce<std::uint8_t, std::int64_t>(op, x, out);
  if (from == DType::i8 && (to == DType::i64 || (to == from && op != ReduceOp::sum)))
    return run_reduce<std::int8_t, std::int64_t>(op, x, out);
  refuse_dtypes(kName, "reduce", from, to);
}

void index_range(const View& index, std::int64_t* low, std::int64_t* high) {
  *low = 0;
  *high = -1;
  if (numel(index.shape) == 0) return;
  View x = index;  // once where it repeats
  for (int d = 0; d < x.shape.rank(); ++d)
    if (x.strides[d] == 0) x.shape[d] = 1;
  const Scratch range(2 * sizeof(std::int64_t));
  View out{range.as<std::int64_t>(), DType::i64, Shape::filled(x.shape.rank(), 1),
           Strides::filled(x.shape.rank(), 1)};
  reduce(ReduceOp::min, x, out);
  out.data = range.as<std::int64_t>(sizeof(std::int64_t));
  reduce(ReduceOp::max, x, out);
  std::int64_t found[2];
  download(found, range.as<std::int64_t>(), sizeof found);
  *low = found[0];
  *high = found[1];
}

}  // namespace veldt::cuda
