// What batch norms compute for each channel, on every device. Constexpr, so that CUDA kernels may call it.
// Tests: tests/ops/batch_norm_test.cpp, tests/cuda/batch_norm_test.cpp
#pragma once

namespace veldt::scalar {

// Of the numbers of a channel, from one pass: sums, in doubles, of their distances from the first one, and of
// the squares. So a mean far from 0 costs no digits. Where the first one is an outlier of all `count`, the
// variance is good to count times 2^-53 of itself.
struct ChannelMoments {
  double mean, variance;
  constexpr ChannelMoments(double origin, double distances, double squares, double count)
      : mean(origin + distances / count), variance(squares / count - (mean - origin) * (mean - origin)) {
    if (variance < 0) variance = 0;
  }
};

// dx = by_g g + by_off (x - mean) + shift, from the sums of g and of g (x - mean): with u = (x - mean) scale
// that is scale weight (g - mean of g - u mean of (g u)).
template <class F> struct ChannelSlope {
  F by_g, by_off, shift;
  constexpr ChannelSlope(double scale, double weight, double of_g, double of_off, double count)
      : by_g(static_cast<F>(scale * weight)),
        by_off(static_cast<F>(-scale * weight * scale * scale * (of_off / count))),
        shift(static_cast<F>(-scale * weight * (of_g / count))) {}
};

}  // namespace veldt::scalar
