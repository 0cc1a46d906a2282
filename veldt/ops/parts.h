// Building blocks of ops: conversion of inputs to the dtype of a computation, and one-kernel cases of binary
// ops. Not for programs: veldt.h does not include it.
// Tests: tests/ops/dtype_test.cpp, tests/ops/forward_test.cpp, tests/ops/gradient_test.cpp
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>

#include "veldt/core/convolution.h"
#include "veldt/core/error.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/scalar.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/autocast.h"

namespace veldt {

inline void check_same_device(const char* op, const Tensor& a, const Tensor& b) {
  if (a.device() != b.device())
    throw DeviceError(str(op, " cannot combine a tensor on ", a.device(), " with one on ", b.device()),
                      "both must be on one device", "move one side with to()");
}

// A view of a tensor that may be undefined, as the kernels take it.
struct OptionalView {
  View view;
  bool given;
  explicit OptionalView(const Tensor& t) : view(t.defined() ? t.view() : View{}), given(t.defined()) {}
  operator const View*() const { return given ? &view : nullptr; }  // NOLINT
};

// Uninitialised, for elementwise results: of the broadcast shape of the operands, in the memory order of the
// first operand of that shape. So all are walked in memory order, also transposed ones, as in PyTorch.
Tensor empty_along(const Shape& shape, DType dtype, std::initializer_list<const Tensor*> operands);

// Throws ShapeError for a number that the integer type `dtype` cannot hold.
void check_holds(DType dtype, Scalar value);
// The number as a tensor of shape []; throws ShapeError if it does not fit. One beyond 2^53 is composed of
// two halves, because fill() takes a double.
Tensor constant(Scalar value, DType dtype, Device device);

// x itself if it holds floats, else as f32: for functions of real numbers.
inline Tensor as_float(const Tensor& x) { return is_float(x.dtype()) ? x : to(x, DType::f32); }

// Whether an Autocast changes one of the inputs of a product, and the converted input.
template <std::same_as<Tensor>... T> bool casts(const T&... inputs) {
  const std::optional<DType> wanted = autocast_dtype();
  const auto changes = [&](const Tensor& x) {
    return x.defined() && x.dtype() != *wanted && is_float(x.dtype()) && x.dtype() != DType::f64;
  };
  return wanted && (changes(inputs) || ...);
}
inline Tensor lowered(const Tensor& x) { return casts(x) ? to(x, *autocast_dtype()) : x; }
// The reverse: halves as f32 under an Autocast, for computations that must be exact.
inline Tensor widened(const Tensor& x) {
  return autocast_dtype() && is_half(x.dtype()) ? to(x, DType::f32) : x;
}

// For kernels that read halves and return f32: the dtype of the result for x, and the result y rounded to x's
// dtype, except under an Autocast.
inline DType wide_dtype(const Tensor& x) { return is_half(x.dtype()) ? DType::f32 : x.dtype(); }
inline Tensor rounded(const Tensor& y, const Tensor& x) { return autocast_dtype() ? y : to(y, x.dtype()); }

// fn(x) for kernels that have no half floats: computed from f32, the result rounded once, except under an
// Autocast. The casts are recorded, so the gradient has x's dtype.
template <class Fn> Tensor through_f32(const Tensor& x, Fn fn) {
  if (autocast_dtype()) {
    const Tensor wide = widened(x);
    const Autocast off({});
    return fn(wide);
  }
  return is_half(x.dtype()) ? to(fn(to(x, DType::f32)), x.dtype()) : fn(x);
}

// x's shape with 1 in place of each reduced dimension (no dims: all of them), and y of that shape with those
// dimensions dropped.
Shape reduced_shape(const Tensor& x, const Dims& dims, const char* op);
Tensor drop_reduced(const Tensor& y, const Tensor& x, const Dims& dims, bool keepdim);

// x over the dimensions in which `kept` has a size of 1, as in Backend::reduce and without a gradient.
Tensor reduced_to(DType dtype, ReduceOp op, const Tensor& x, const Shape& kept);

// fn(x, d) with dimension d of x counted from the front. A number counts as a list of one, as in PyTorch.
template <class Fn> Tensor along_dim(const char* op, const Tensor& x, int dim, Fn fn) {
  if (x.rank() == 0) return reshape(fn(reshape(x, {1}), wrap_dim(dim, 1, op)), {});
  return fn(x, wrap_dim(dim, x.rank(), op));
}
// An index as i64; i32 is converted. Throws ShapeError for another dtype.
Tensor as_index(const char* op, const Tensor& index);
// Throws unless `index`, of i64, is of x's rank, no larger than x except along dim, and its numbers are
// positions of that dimension.
void check_index(const char* op, const Tensor& x, int dim, const Tensor& index);
// g^T x for g [n, out] and x [n, in], the gradient of a weight [out, in]; maybe a transposed view.
Tensor weight_gradient(const Tensor& g, const Tensor& x);

// rate x^2 / 2 up to |x| = delta, then rate delta (|x| - delta / 2): Huber 1964.
Tensor huber_of(const Tensor& x, double delta, double rate);

// x scale + shift; scale and shift, of x's dtype or f32 for halves, broadcast to its shape.
Tensor multiply_add(const Tensor& x, const Tensor& scale, const Tensor& shift);
// x scale + shift and (x - shift) scale without a gradient, each rounded once to `dtype`; inputs may mix
// halves and f32.
Tensor multiply_add_to(DType dtype, const Tensor& x, const Tensor& scale, const Tensor& shift);
Tensor subtract_multiply_to(DType dtype, const Tensor& x, const Tensor& shift, const Tensor& scale);

// (x - mean) / sqrt(variance + eps) weight + bias for x [n, channels, ..], with moments over all dimensions
// but the second. weight and bias [channels], or undefined. f32 or f64; x may be of halves beside f32. Ioffe
// & Szegedy 2015.
struct BatchNormed {
  Tensor y, mean, variance;  // the moments [channels], without a gradient; the variance is biased
};
BatchNormed batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);

// The same of a whole batch of which x, that may have no example, is a part; processes have the others.
struct BatchParts {
  std::function<Tensor(const Tensor&)> sum;  // over all parts; its gradient is the sum of theirs; none: alone
  bool counts = true;                        // whether x's numbers are in the moments
};
struct PartNormed {
  Tensor y, mean, variance;
  Tensor unbiased;  // variance
  Tensor count;     // [1]: the numbers of each channel; below two there is no variance
};
PartNormed batch_norm_of_parts(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                               const BatchParts& parts);
// The same with given moments, as constants that broadcast to x. x may be of halves and the rest f32.
Tensor standardise_by(const Tensor& mean, const Tensor& variance, const Tensor& x, const Tensor& weight,
                      const Tensor& bias, double eps);

// gather() by a valid index; and its result, if another kernel has computed it, with its gradient.
Tensor gather_within(const Tensor& x, int dim, const Tensor& index);
Tensor gathered(const Tensor& out, const char* name, const Tensor& x, int dim, const Tensor& index);

// What conv1d() and its like, of `dims` dimensions, compute: the layout, the spatial size of the result, and
// the padding of modes other than zeros, as pad() takes it, which then is in neither. Throws as they do, but
// takes a weight of another dtype than x's.
struct ConvOptions;
struct PlannedConv {
  ConvLayout layout;
  Shape size;
  std::vector<std::int64_t> around;
};
PlannedConv planned_convolution(int dims, const Tensor& x, const Tensor& weight, const Tensor& bias,
                                const ConvOptions& options);

// For floats: x / divisor, numerator / x, x^p.
Tensor quotient(const Tensor& x, double divisor);
Tensor inverse(const Tensor& x, double numerator);
Tensor power(const Tensor& x, double p);

}  // namespace veldt
