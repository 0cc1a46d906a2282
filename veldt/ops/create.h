// Tensors from nothing: constants, ramps and random numbers.
#pragma once

#include "veldt/core/rng.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = {});
Tensor ones(const Shape& shape, DType dtype = DType::f32, Device device = {});
Tensor full(const Shape& shape, double value, DType dtype = DType::f32, Device device = {});
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
// 0, 1, .. n-1, shape [n].
Tensor arange(std::int64_t n, DType dtype = DType::i64, Device device = {});
// `n` values from `first` to `last`, both included, shape [n]; n = 1 gives `first`.
Tensor linspace(double first, double last, std::int64_t n, DType dtype = DType::f32, Device device = {});

// Uniform in [low, high), and normal; they take their draws from `rng` and move it on by as many. Float
// dtypes (bf16 and f16 are rounded f32, and may so give `high`). The same numbers on every device.
Tensor rand(const Shape& shape, Rng& rng, double low = 0, double high = 1, DType dtype = DType::f32,
            Device device = {});
Tensor randn(const Shape& shape, Rng& rng, double mean = 0, double deviation = 1, DType dtype = DType::f32,
             Device device = {});

}  // namespace veldt
