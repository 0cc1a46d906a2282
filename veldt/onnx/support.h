// What several families of operators share. Only for the files operators_*.cpp.
// Tests: tests/onnx/node_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/onnx/call.h"
#include "veldt/onnx/narrow.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/index.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::onnx {

inline Shape shape_from(const std::vector<std::int64_t>& sizes) {
  return Shape(std::span<const std::int64_t>(sizes));
}
inline std::vector<std::int64_t> sizes_of(const Shape& shape) { return {shape.begin(), shape.end()}; }
// A list of i64.
inline Tensor list_of(const std::vector<std::int64_t>& values, Device device = {}) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values, device);
}
// 0, 1, .. n - 1 where the call computes.
inline Tensor ramp(const Call& c, std::int64_t n) { return arange(n, DType::i64, c.device()); }
// Dimensions of something with this rank, each counted from the front.
std::vector<int> axes_of(const Call& c, const std::vector<std::int64_t>& axes, int rank);

// The element type that an attribute names by its number. Throws Error for one that ONNX does not have.
ElementType element_of(const Call& c, std::int64_t number);

// All elements in the host's memory, in row-major order: T is float, double, std::int64_t or std::uint8_t.
template <class T> std::vector<T> host(const Tensor& x) { return to(x, dtype_of<T>).template values<T>(); }

// A Value with the type of the first input; texts are moved by their places: fn works on a tensor either way.
template <class Fn> Value moved(const Call& c, const Fn& fn) {
  const Value& like = c.value(0);
  if (like.kind() != Value::Kind::texts) return {fn(c.tensor(0)), like.type()};
  const Texts& texts = like.texts();
  const Tensor places = fn(reshape(ramp(c, numel(texts.shape)), texts.shape));
  Texts out{places.shape(), {}};
  for (const std::int64_t i : host<std::int64_t>(places))
    out.values.push_back(texts.values.at(static_cast<std::size_t>(i)));
  return Value(std::move(out));
}

// fn(x) with x as f32 if it is of halves or integers, the result rounded to the type that x had if that is a
// float.
template <class Fn> Tensor in_f32(const Tensor& x, const Fn& fn) {
  if (x.dtype() == DType::f32 || x.dtype() == DType::f64) return fn(x);
  const Tensor y = fn(to(x, DType::f32));
  return is_float(x.dtype()) ? to(y, x.dtype()) : y;
}

// "SAME_UPPER" and its like, or the attribute pads: the elements before and after each spatial dimension.
struct Padding {
  std::vector<std::int64_t> before, after;
  bool symmetric() const { return before == after; }
  bool any() const;
  // As pad() of ops takes them.
  std::vector<std::int64_t> amounts() const;
};
// The window's numbers for each spatial dimension.
struct Window {
  std::vector<std::int64_t> kernel, stride, dilation;
  Padding padding;
};
// Reads strides, dilations, pads and auto_pad; `sizes` are x's spatial ones.
Window window_of(const Call& c, const std::vector<std::int64_t>& kernel, std::span<const std::int64_t> sizes);

// The convolution that the node's attributes describe; `pad_value` is what lies around x.
Tensor convolution(const Call& c, Tensor x, const Tensor& w, const Tensor& bias, double pad_value);

// Throws Error for a result of more than 2^29 elements: sizes that a file states are no reason to allocate.
void check_size(const Call& c, const Shape& shape);

// x [n, channels, spatial ..] between its elements, at points [n, points] for each spatial dimension, counted
// in elements: [n, channels, points]. Gradients reach both.
enum class Beyond : std::uint8_t { zeros, border, reflect_edges, reflect_centres };
enum class Between : std::uint8_t { nearest, linear, cubic };
Tensor sampled(const Tensor& x, std::vector<Tensor> points, Between between, Beyond beyond);

// What an operator computed in the host's memory from inputs: backward() through it is refused.
Tensor without_gradient(const Call& c, const Tensor& computed, const TensorList& inputs);

// The elements of x as another type of ONNX: numbers, booleans and texts. The rest is for floats of 8 bits
// and less, see rounded_to().
Value cast(const Value& x, ElementType type, bool saturate = true, Rounding rounding = Rounding::up);

}  // namespace veldt::onnx
