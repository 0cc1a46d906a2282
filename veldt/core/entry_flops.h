// Floating point operations of a call through the waist, for core/entries.inc: functions of its views and its
// arguments.
// Tests: tests/tensor/profile_test.cpp
#pragma once

#include <span>

#include "veldt/core/convolution.h"
#include "veldt/core/mlp.h"
#include "veldt/core/quantized.h"
#include "veldt/core/view.h"

namespace veldt::entry_flops {

using Views = std::span<const View>;

inline double count(const View& v) { return static_cast<double>(numel(v.shape)); }
inline double size(const View& v, int d) { return static_cast<double>(v.shape[d]); }

inline constexpr auto no_flops = [](Views, const auto&...) { return 0.0; };
// An elementwise one counts as one for each element.
inline constexpr auto one_each = [](Views v, const auto&...) { return count(v[0]); };
inline constexpr auto product_flops = [](Views v, const auto&...) { return 2 * count(v[3]) * size(v[0], 2); };
// Products of each query with every key: 2 of them, or 5 for gradients.
inline double attended(Views v, double products) {
  return 2 * products * count(v[0]) * size(v[1], v[1].shape.rank() - 2);
}
inline constexpr auto attention_flops = [](Views v, const auto&...) { return attended(v, 2); };
inline constexpr auto attention_slope_flops = [](Views v, const auto&...) { return attended(v, 5); };
inline constexpr auto lstm_flops = [](Views v, const auto&...) { return 2 * count(v[0]) * size(v[1], 1); };
inline constexpr auto lstm_slope_flops = [](Views v, const auto&...) {
  return 2 * count(v[2]) * size(v[0], 1);
};
inline constexpr auto convolution_flops = [](Views v, const ConvLayout& layout, ConvPart part,
                                             const auto&...) {
  return ConvSizes(layout, ConvViews(part, v[0], v[1], v[3])).flops();
};
inline constexpr auto frozen_convolution_flops = [](Views v, const FrozenConv& c, const auto&...) {
  return ConvSizes(c.layout, ConvViews(ConvPart::output, v[0], v[1], v[4])).flops();
};
inline constexpr auto quantized_flops = [](Views v, const QuantizedConv& c, const auto&...) {
  return ConvSizes(c.layout, ConvViews(ConvPart::output, v[0], v[1], v[6])).flops();
};
inline constexpr auto narrow_flops = [](Views v, const auto&...) { return 2 * count(v[4]) * size(v[0], 1); };
inline constexpr auto stack_flops = [](Views v, const MlpStep& step, const auto&...) {
  return step.flops(v[MlpStep::x].shape[0], v[MlpStep::dx].data != nullptr);
};

}  // namespace veldt::entry_flops
