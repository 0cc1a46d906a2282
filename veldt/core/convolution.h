// Convolutions as used in networks (the kernel is not flipped), over one to three spatial dimensions:
//   y[n, o, p] = sum over c, k of w[o, c, k] x[n, c, p stride - padding + k dilation]
// where x is 0 outside of its bounds. ops/convolution.h checks arguments; backends do not.
// Tests: tests/cpu/convolution_test.cpp, tests/ops/convolution_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>

#include "veldt/core/view.h"

namespace veldt {

struct ConvLayout {
  static constexpr int kMaxDims = 3;
  // The limit of every number below and every size, so that no position overflows.
  static constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1;

  int dims = 1;
  // padding: zeros before x. Those after it follow from the sizes of x and y.
  std::array<std::int64_t, kMaxDims> stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};
  std::int64_t groups = 1;  // of channels: each computes its part of the output from its part of the input
  // Sums may be rounded more coarsely than plain ones where that is faster: while weights are being learned.
  bool coarse = false;

  // The elements of x from the first to the last that one output reads along dimension d.
  std::int64_t reach(int d, std::int64_t kernel) const {
    return dilation[static_cast<std::size_t>(d)] * (kernel - 1) + 1;
  }
  // Outputs along dimension d, if x has `padded` elements there, all its padding included. 0 if none fits.
  std::int64_t output_size(int d, std::int64_t padded, std::int64_t kernel) const {
    const std::int64_t rest = padded - reach(d, kernel);
    return rest < 0 ? 0 : rest / stride[static_cast<std::size_t>(d)] + 1;
  }
};

// Which of x, w and y is computed from the other two, which are given in that order. The sum of y times
// numbers is linear in all three, so each part's gradients are the other parts.
enum class ConvPart : std::uint8_t { input_gradient, weight_gradient, output };

// The three of a call of Backend::convolve.
struct ConvViews {
  const View &x, &w, &y;

  ConvViews(ConvPart part, const View& a, const View& b, const View& out)
      : x(part == ConvPart::input_gradient ? out : a),
        w(part == ConvPart::weight_gradient  ? out
          : part == ConvPart::input_gradient ? a
                                             : b),
        y(part == ConvPart::output ? out : b) {}
};

// A convolution whose weights never change, with what follows it in the same pass: the entry convolve_frozen.
struct FrozenConv {
  // What a backend makes of the weights (their own order, plans for the sizes it has seen), for the next call
  // with the same ones. It is shared by all threads that call at once.
  struct Kept {
    std::mutex mutex;
    std::shared_ptr<void> made;
  };

  ConvLayout layout;
  // Bounds of the result. A NaN may become `low` if there are any.
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  std::shared_ptr<Kept> kept = std::make_shared<Kept>();
};

// The sizes of a convolution in three dimensions, as kernels loop over them; missing leading ones are 1.
struct ConvSizes {
  std::int64_t batch, groups;
  std::int64_t c_in, c_out;  // channels of a group
  std::int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];

  ConvSizes(const ConvLayout& layout, const ConvViews& v)
      : batch(v.x.shape[0]), groups(layout.groups), c_in(v.w.shape[1]), c_out(v.w.shape[0] / layout.groups) {
    const int missing = 3 - layout.dims;
    for (int i = 0; i < 3; ++i) {
      const int d = i - missing;
      const auto at = static_cast<std::size_t>(d < 0 ? 0 : d);
      in[i] = d < 0 ? 1 : v.x.shape[2 + d];
      out[i] = d < 0 ? 1 : v.y.shape[2 + d];
      kernel[i] = d < 0 ? 1 : v.w.shape[2 + d];
      stride[i] = d < 0 ? 1 : layout.stride[at];
      padding[i] = d < 0 ? 0 : layout.padding[at];
      dilation[i] = d < 0 ? 1 : layout.dilation[at];
    }
  }

  friend bool operator==(const ConvSizes&, const ConvSizes&) = default;

  static constexpr std::int64_t product(const std::int64_t (&s)[3]) { return s[0] * s[1] * s[2]; }
  constexpr std::int64_t inputs() const { return product(in); }    // of a channel
  constexpr std::int64_t outputs() const { return product(out); }  // of a channel
  constexpr std::int64_t taps() const { return product(kernel); }  // of a channel
  constexpr std::int64_t depth() const { return c_in * taps(); }   // terms of an output
  // Multiplications and additions of any part, those with the padding included.
  double flops() const {
    return 2 * static_cast<double>(batch * groups * c_out) * static_cast<double>(outputs()) *
           static_cast<double>(depth());
  }
};

}  // namespace veldt
