// Fill and copy: every dtype to every dtype, any strides.
#include <cstring>

#include "veldt/cuda/elementwise.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/numbers.h"

namespace veldt::cuda {
namespace {

// Elements as bits: a T is as wide as one.
template <class T> __global__ void __launch_bounds__(kThreads) fill_kernel(ElementWalk w, T* to, T value) {
  const Four<T> four = {{value, value, value, value}};
  for (std::int64_t i = first_element(); i < w.pieces(); i += element_step()) {
    const Piece p = piece_of<1>(w, i);
    if (p.count == 4)
      *reinterpret_cast<Four<T>*>(to + p.at[0]) = four;
    else
      to[p.at[0]] = value;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) move_kernel(ElementWalk w, const T* from, T* to) {
  for (std::int64_t i = first_element(); i < w.pieces(); i += element_step()) {
    const Piece p = piece_of<2>(w, i);
    T x[4];
    load_as<T>(from, p.at[0], p.count, w.repeats(0), x);
    store_as<T>(to, p.at[1], p.count, x);
  }
}

// A row of data that lies ready for many steps.
struct Source {
  const unsigned char* data;
};
__global__ void __launch_bounds__(kThreads)
    row_kernel(Numbers<Source> numbers, std::int64_t bytes, unsigned char* to) {
  const unsigned char* const from = numbers().data;
  const bool wide = (reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to)) % 16 == 0;
  const std::int64_t pieces = wide ? bytes / 16 : 0;
  for (std::int64_t i = first_element(); i < pieces; i += element_step())
    reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
  for (std::int64_t i = 16 * pieces + first_element(); i < bytes; i += element_step()) to[i] = from[i];
}

template <class F>
__global__ void __launch_bounds__(kThreads) convert_kernel(ElementWalk w, Memory from, Memory to) {
  for (std::int64_t i = first_element(); i < w.pieces(); i += element_step()) {
    const Piece p = piece_of<2>(w, i);
    F x[4];
    load(from, p.at[0], p.count, w.repeats(0), x);
    switch (to.type) {
      case DType::f32: store_as<float>(to.data, p.at[1], p.count, x); break;
      case DType::f64: store_as<double>(to.data, p.at[1], p.count, x); break;
      case DType::bf16: store_as<scalar::BFloat16>(to.data, p.at[1], p.count, x); break;
      case DType::f16: store_as<scalar::Float16>(to.data, p.at[1], p.count, x); break;
      case DType::i64: store_as<std::int64_t>(to.data, p.at[1], p.count, x); break;
      case DType::i32: store_as<std::int32_t>(to.data, p.at[1], p.count, x); break;
      case DType::i8: store_as<std::int8_t>(to.data, p.at[1], p.count, x); break;
      case DType::u8: store_as<std::uint8_t>(to.data, p.at[1], p.count, x); break;
      case DType::boolean: store_as<bool>(to.data, p.at[1], p.count, x); break;
    }
  }
}

template <class T> void run_fill(const View& out, std::uint64_t bits) {
  const ElementWalk w = walk_of({&out});
  if (w.count > 0)
    launch(fill_kernel<T>, blocks_for(w.pieces()), kThreads, 0, w, out.as<T>(), static_cast<T>(bits));
}

template <class T> void run_move(const ElementWalk& w, const View& from, const View& to) {
  launch(move_kernel<T>, blocks_for(w.pieces()), kThreads, 0, w, from.as<const T>(), to.as<T>());
}

// Whether the memory can be seen as elements of 8 bytes instead.
bool is_dense(const View& v) {
  return is_contiguous(v.shape, v.strides) && reinterpret_cast<std::uintptr_t>(v.data) % 8 == 0 &&
         static_cast<std::size_t>(numel(v.shape)) * size_of(v.dtype) % 8 == 0;
}

}  // namespace

void fill(const View& out, double value) {
  std::uint64_t bits = 0;
  std::size_t bytes = size_of(out.dtype);
  scalar::with_type(out.dtype, [&](auto type) {
    const auto stored = scalar::store<decltype(type)>(value);
    std::memcpy(&bits, &stored, sizeof stored);
  });
  if (!is_dense(out)) {
    if (bytes == 1) return run_fill<std::uint8_t>(out, bits);
    if (bytes == 2) return run_fill<std::uint16_t>(out, bits);
    if (bytes == 4) return run_fill<std::uint32_t>(out, bits);
    return run_fill<std::uint64_t>(out, bits);
  }
  const auto n = numel(out.shape) * static_cast<std::int64_t>(bytes) / 8;
  for (; bytes < 8; bytes *= 2) bits |= bits << 8 * bytes;
  run_fill<std::uint64_t>({out.data, DType::i64, {n}, {1}}, bits);
}

void copy(const View& from, const View& to) {
  const ElementWalk w = walk_of({&from, &to});
  if (w.count == 0) return;
  const std::size_t bytes = size_of(to.dtype);
  if (from.dtype == to.dtype) {
    if (w.contiguous && numbers_change()) {
      const std::int64_t count = w.count * static_cast<std::int64_t>(bytes);
      if (const auto numbers = numbers_of_step(Source{from.as<const unsigned char>()}))
        launch(row_kernel, blocks_for(count / 16 + 1), kThreads, 0, *numbers, count, to.as<unsigned char>());
      return;
    }
    if (w.contiguous) {
      const Turn turn = take_turn();
      return check(cudaMemcpyAsync(to.data, from.data, static_cast<std::size_t>(w.count) * bytes,
                                   cudaMemcpyDeviceToDevice, compute_stream()),
                   "copy on the GPU");
    }
    if (bytes == 1) return run_move<std::uint8_t>(w, from, to);
    if (bytes == 2) return run_move<std::uint16_t>(w, from, to);
    if (bytes == 4) return run_move<std::uint32_t>(w, from, to);
    return run_move<std::uint64_t>(w, from, to);
  }
  auto* kernel = convert_kernel<std::int64_t>;
  if (from.dtype == DType::f64) kernel = convert_kernel<double>;
  if (from.dtype != DType::f64 && is_float(from.dtype)) kernel = convert_kernel<float>;
  launch(kernel, blocks_for(w.pieces()), kThreads, 0, w, from, to);
}

}  // namespace veldt::cuda
