// The windows of pooling over one to three spatial dimensions. ops/pooling.h checks arguments; backends do
// not.
// Tests: tests/ops/pooling_test.cpp
#pragma once

#include <cstdint>

namespace veldt {

// `planes` counts the channels of all examples together. Missing leading dimensions have size 1.
struct PoolLayout {
  std::int64_t planes = 0;
  std::int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  std::int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  bool adaptive =
      false;  // windows of about in / out elements each, next to each other; the kernel counts no more

  bool counts_padding = false;  // of means, which have no dilation: whether padding is averaged too, as zeros

  constexpr std::int64_t inputs() const { return in[0] * in[1] * in[2]; }      // of a plane
  constexpr std::int64_t outputs() const { return out[0] * out[1] * out[2]; }  // of a plane

  // The elements of dimension d that output i covers, without padding.
  struct Window {
    std::int64_t begin, end, step;
  };
  template <bool kAdaptive> constexpr Window window(int d, std::int64_t i) const {
    if constexpr (kAdaptive) {
      return {i * in[d] / out[d], ((i + 1) * in[d] + out[d] - 1) / out[d], 1};
    } else {
      std::int64_t begin = i * stride[d] - padding[d];
      const std::int64_t end = begin + (kernel[d] - 1) * dilation[d] + 1;
      while (begin < 0) begin += dilation[d];
      return {begin, end < in[d] ? end : in[d], dilation[d]};
    }
  }
  // The number of elements of dimension d in the mean over window i.
  constexpr std::int64_t averaged(int d, std::int64_t i) const {
    if (adaptive) {
      const Window w = window<true>(d, i);
      return w.end - w.begin;
    }
    const std::int64_t begin = i * stride[d] - padding[d], end = begin + kernel[d];
    const std::int64_t last = in[d] + (counts_padding ? padding[d] : 0);
    return (end < last ? end : last) - (begin < 0 && !counts_padding ? 0 : begin);
  }
  constexpr Window window(int d, std::int64_t i) const {
    return adaptive ? window<true>(d, i) : window<false>(d, i);
  }
};

}  // namespace veldt
