// Random tensors. Each takes its draws from `rng`, or from the process' default_rng(), and advances it, so
// numbers are the same on every device, and a replayed Plan continues.
// Tests: tests/support/op_rows_create.cpp, tests/ops/sampling_test.cpp, tests/ops/lines_test.cpp
#pragma once

#include "veldt/core/rng.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

// The process' stream of random numbers, of which layers draw their first weights too. Seeded with 0. It
// belongs to one thread at a time: other threads need an Rng of their own.
Rng& default_rng();
// Restarts default_rng(), so that all that is drawn from it later is the same in every run.
void seed(std::uint64_t value);

// Uniform in [low, high), and normal. Float dtypes (bf16 and f16 are rounded f32, and may so give `high`).
Tensor rand(const Shape& shape, Rng& rng, double low = 0, double high = 1, DType dtype = DType::f32,
            Device device = {});
Tensor rand(const Shape& shape, DType dtype = DType::f32, Device device = {});
Tensor randn(const Shape& shape, Rng& rng, double mean = 0, double deviation = 1, DType dtype = DType::f32,
             Device device = {});
Tensor randn(const Shape& shape, DType dtype = DType::f32, Device device = {});
// Integers low .. high - 1, all equally likely to 2^-32. Throws ConfigError unless 1 <= high - low <= 2^31.
Tensor randint(const Shape& shape, Rng& rng, std::int64_t low, std::int64_t high, DType dtype = DType::i64,
               Device device = {});
Tensor randint(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype = DType::i64,
               Device device = {});
// 0 .. n-1 in a random order, i64.
Tensor randperm(std::int64_t n, Rng& rng, Device device = {});
Tensor randperm(std::int64_t n, Device device = {});
// 1 with the probability in each element of p, else 0, in p's dtype.
Tensor bernoulli(const Tensor& p, Rng& rng = default_rng());
// `count` draws of an index into each line of weights [.., n], each as likely as its weight, with
// replacement: i64 [.., count]. The weights need not sum to 1. Throws Error for one that is negative,
// infinite or NaN, and for a line of zeros, naming it; lines count in row-major order.
Tensor multinomial(const Tensor& weights, std::int64_t count, Rng& rng = default_rng());

}  // namespace veldt
