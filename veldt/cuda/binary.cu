// Elementwise ops of two and three inputs, comparisons, and where(). A kernel a number type, as in unary.cu.
#include "veldt/cuda/elementwise.h"
#include "veldt/cuda/kernels.h"
#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/compare.h"
#include "veldt/kernels/formula_name.h"

namespace veldt::cuda {
namespace {

using Formulas = scalar::BinaryOps;

// Whole numbers are computed as i64: what wraps when it is stored is what would have wrapped before.
template <class Op, class F> __device__ inline F value_of(F a, F b) {
  if constexpr (std::is_floating_point_v<F>)
    return Op::forward(a, b);
  else if constexpr (requires { Op::whole(a, b); })
    return Op::whole(a, b);
  else
    return a;  // refused before
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    binary_kernel(int op, ElementWalk w, Memory a_at, Memory b_at, Memory to) {
  for (std::int64_t i = first_element(); i < w.pieces(); i += element_step()) {
    const Piece p = piece_of<3>(w, i);
    F a[4], b[4];
    load(a_at, p.at[0], p.count, w.repeats(0), a);
    load(b_at, p.at[1], p.count, w.repeats(1), b);
    choose<Formulas>(op, [&](auto type) {
      apply(
          p.count, [](F x, F y) { return value_of<decltype(type)>(x, y); }, a, b);
    });
    store(to, p.at[2], p.count, a);
  }
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    ternary_kernel(int op, ElementWalk w, Memory a_at, Memory b_at, Memory c_at, Memory to) {
  for (std::int64_t i = first_element(); i < w.pieces(); i += element_step()) {
    const Piece p = piece_of<4>(w, i);
    F a[4], b[4], c[4];
    load(a_at, p.at[0], p.count, w.repeats(0), a);
    load(b_at, p.at[1], p.count, w.repeats(1), b);
    load(c_at, p.at[2], p.count, w.repeats(2), c);
    choose<scalar::TernaryOps>(op, [&](auto type) {
      apply(
          p.count, [](F x, F y, F z) { return decltype(type)::forward(x, y, z); }, a, b, c);
    });
    store(to, p.at[3], p.count, a);
  }
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    compare_kernel(int op, ElementWalk w, Memory a_at, Memory b_at, Memory to) {
  for (std::int64_t i = first_element(); i < w.pieces(); i += element_step()) {
    const Piece p = piece_of<3>(w, i);
    F a[4], b[4];
    load(a_at, p.at[0], p.count, w.repeats(0), a);
    load(b_at, p.at[1], p.count, w.repeats(1), b);
    bool holds[4];
    choose<CompareOps>(op, [&](auto type) {
      for (int j = 0; j < 4; ++j) holds[j] = decltype(type)::holds(a[j], b[j]);
    });
    store_as<bool>(to.data, p.at[2], p.count, holds);
  }
}

// Elements as bits: a T is as wide as one.
template <class T>
__global__ void __launch_bounds__(kThreads)
    where_kernel(ElementWalk w, const bool* condition, const T* a_at, const T* b_at, T* to) {
  for (std::int64_t i = first_element(); i < w.pieces(); i += element_step()) {
    const Piece p = piece_of<4>(w, i);
    bool holds[4];
    T a[4], b[4];
    load_as<bool>(condition, p.at[0], p.count, w.repeats(0), holds);
    load_as<T>(a_at, p.at[1], p.count, w.repeats(1), a);
    load_as<T>(b_at, p.at[2], p.count, w.repeats(2), b);
    for (int j = 0; j < 4; ++j) a[j] = holds[j] ? a[j] : b[j];
    store_as<T>(to, p.at[3], p.count, a);
  }
}

template <class Op>
concept HasWhole = requires(std::int64_t x) {
  Op::whole(x, x);
};
template <class... Op> bool has_whole(int op, TypeList<Op...>) {
  static constexpr bool has[] = {HasWhole<Op>...};
  return has[op];
}

using BinaryKernel = void (*)(int, ElementWalk, Memory, Memory, Memory);

void run(BinaryKernel f32, BinaryKernel f64, BinaryKernel whole, int op, const View& a, const View& b,
         const View& out) {
  const ElementWalk w = walk_of({&a, &b, &out});
  const BinaryKernel kernel = !is_float(a.dtype) ? whole : a.dtype == DType::f64 ? f64 : f32;
  if (w.count > 0) launch(kernel, blocks_for(w.pieces()), kThreads, 0, op, w, a, b, out);
}

template <class T> void run_where(const View& condition, const View& a, const View& b, const View& out) {
  const ElementWalk w = walk_of({&condition, &a, &b, &out});
  if (w.count > 0)
    launch(where_kernel<T>, blocks_for(w.pieces()), kThreads, 0, w, condition.as<const bool>(),
           a.as<const T>(), b.as<const T>(), out.as<T>());
}

}  // namespace

void binary(int op, const View& a, const View& b, const View& out) {
  if (!is_float(a.dtype) && !has_whole(op, Formulas()))
    refuse_dtype(kName, formula_name(Entry::binary, op), a.dtype, kFloats);
  run(binary_kernel<float>, binary_kernel<double>, binary_kernel<std::int64_t>, op, a, b, out);
}

void ternary(int op, const View& a, const View& b, const View& c, const View& out) {
  const ElementWalk w = walk_of({&a, &b, &c, &out});
  if (w.count > 0)
    launch(out.dtype == DType::f64 ? ternary_kernel<double> : ternary_kernel<float>, blocks_for(w.pieces()),
           kThreads, 0, op, w, a, b, c, out);
}

void accumulate(const View& from, const View& into) {
  binary(IndexOf<scalar::Add, scalar::BinaryOps>::value, into, from, into);
}

void compare(int op, const View& a, const View& b, const View& out) {
  run(compare_kernel<float>, compare_kernel<double>, compare_kernel<std::int64_t>, op, a, b, out);
}

void where(const View& condition, const View& a, const View& b, const View& out) {
  switch (size_of(a.dtype)) {
    case 1: return run_where<std::uint8_t>(condition, a, b, out);
    case 2: return run_where<std::uint16_t>(condition, a, b, out);
    case 4: return run_where<std::uint32_t>(condition, a, b, out);
    default: return run_where<std::uint64_t>(condition, a, b, out);
  }
}

}  // namespace veldt::cuda
