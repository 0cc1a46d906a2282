// Makes steps of a network's layers: which values are bytes, multipliers for scales, and places in the arena.
#include "veldt/publish/integer_network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/pooling.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/publish/integer_flow.h"
#include "veldt/tensor/arena.h"

namespace veldt::publish {
namespace {

using Op = FlowNode::Op;
using Kind = IntegerStep::Kind;

constexpr double kMostSum = 2147483647.0;
// A sum times a multiplier below 2^31 and a half stay within 64 bits.
constexpr int kMostShift = 62;
constexpr std::int64_t kNoBound = std::int64_t{1} << 31;

struct Multiplier {
  std::int32_t value;
  std::uint8_t shift;
};

// x as value / 2^shift, with 31 bits of it.
Multiplier multiplier_of(double x, const std::string& layer) {
  int exponent;
  double value = std::round(std::ldexp(std::frexp(x, &exponent), 31));
  int shift = 31 - exponent;
  if (value == std::ldexp(1, 31)) value /= 2, --shift;
  if (!std::isfinite(x) || shift < 1)
    refuse_layer(layer, str("its scales differ by a factor of ", x), "quantize the network again");
  if (shift > kMostShift) value = std::floor(std::ldexp(value, kMostShift - shift)), shift = kMostShift;
  return {static_cast<std::int32_t>(value), static_cast<std::uint8_t>(shift)};
}

// The exponent of a scale for numbers up to `bound`, which then are within 2^30.
int exponent_for(double bound) { return bound > 0 ? std::ilogb(bound) - 29 : 0; }

// One side of a window, of two; layers of one dimension have a height of 1.
std::int64_t side(const PerDim& all, int dims, int d, std::int64_t otherwise) {
  return dims == 2 ? all.of(2)[d] : d == 0 ? otherwise : all.of(1)[0];
}

IntegerWindow window_over(const FlowNode& node) {
  const int dims = node.taken.rank() - 1;
  if (dims < 1 || dims > 2 || node.shape.rank() != dims + 1)
    refuse_layer(node.name, str("it takes ", node.taken), "give it planes, [channels, height, width]");
  IntegerWindow w;
  w.channels = node.taken[0], w.out_channels = node.shape[0];
  w.width = node.taken[dims], w.out_width = node.shape[dims];
  if (dims == 2) w.height = node.taken[1], w.out_height = node.shape[1];
  return w;
}

void set_kernel(IntegerWindow& w, int dims, const PerDim& kernel, const PerDim& stride, const PerDim& padding,
                const PerDim& dilation) {
  w.kernel_height = side(kernel, dims, 0, 1), w.kernel_width = side(kernel, dims, 1, 1);
  w.stride_y = side(stride, dims, 0, 1), w.stride_x = side(stride, dims, 1, 1);
  w.pad_top = side(padding, dims, 0, 0), w.pad_left = side(padding, dims, 1, 0);
  w.dilation_y = side(dilation, dims, 0, 1), w.dilation_x = side(dilation, dims, 1, 1);
}

template <int kDims> bool set_pool(const FlowNode& node, IntegerStep& step) {
  if (const auto* most = dynamic_cast<const nn::MaxPool<kDims>*>(node.module)) {
    const MaxPoolOptions& o = most->options();
    set_kernel(step.window, kDims, most->kernel(), o.stride.value_or(most->kernel()), o.padding, o.dilation);
    return true;
  }
  const auto* mean = dynamic_cast<const nn::AvgPool<kDims>*>(node.module);
  if (!mean) return false;
  const AvgPoolOptions& o = mean->options();
  set_kernel(step.window, kDims, mean->kernel(), o.stride.value_or(mean->kernel()), o.padding, 1);
  bool pads = false;
  for (int d = 0; d < kDims; ++d) pads = pads || o.padding.of(kDims)[d] > 0;
  step.whole = pads && o.count_include_pad;
  if (step.whole && o.ceil_mode)
    refuse_layer(node.name, "its last windows count some of the padding",
                 "give it ceil_mode or padding alone");
  return true;
}

void set_adaptive_pool(const FlowNode& node, IntegerStep& step) {
  IntegerWindow& w = step.window;
  if (w.height % w.out_height != 0 || w.width % w.out_width != 0)
    refuse_layer(node.name, str("its windows of ", node.taken, " have different sizes"),
                 "choose a size that divides the input's");
  w.kernel_height = w.stride_y = w.height / w.out_height;
  w.kernel_width = w.stride_x = w.width / w.out_width;
}

// The integers of a layer, with the scale of each output channel; and what its sums can be.
struct ProductNumbers {
  std::vector<std::int8_t> weight;
  std::vector<double> scale, bias;
  std::size_t terms = 0;
};

ProductNumbers numbers_of(const FlowNode& node) {
  ProductNumbers p;
  Tensor bias;
  for (const auto& [name, tensor] : node.module->state_dict()) {
    const Tensor here = to(tensor, Device{});
    if (name == "weight") p.weight = here.values<std::int8_t>();
    if (name == "weight_scale") p.scale = to(here, DType::f64).values<double>();
    if (name == "bias") bias = to(here, DType::f64);
  }
  p.bias = bias.defined() ? bias.values<double>() : std::vector<double>(p.scale.size());
  p.terms = p.weight.size() / p.scale.size();
  for (const double b : p.bias)
    if (!std::isfinite(b)) refuse_layer(node.name, "its bias is not finite", "train the network again");
  return p;
}

// What a result is cut off at: a byte's range, or that of 32 bits; a ReLU, or ReLU6, narrows it.
void set_bounds(IntegerStep& step, const IntegerValue& v, const nn::Module* by) {
  step.low = v.is_bytes ? 0 : -kNoBound;
  step.high = v.is_bytes ? 255 : kNoBound - 1;
  if (!by) return;
  step.low = v.is_bytes ? v.zero : 0;
  if (dynamic_cast<const nn::ReLU6*>(by))
    step.high = static_cast<std::int64_t>(
        std::min(static_cast<double>(step.high), std::nearbyint(6 / v.scale) + v.zero));
}

template <int kDims> void set_convolution(const FlowNode& node, IntegerWindow& w) {
  const auto& layer = dynamic_cast<const nn::Conv<kDims>&>(*node.module);
  const ConvOptions o = layer.options();
  if (o.padding_mode != PadMode::zeros)
    refuse_layer(node.name, "its padding is no zeros", "use zeros, or write the network as ONNX");
  const Tensor x = zeros(node.taken.with_inserted(0, 1)), weight = layer.weight();
  const ConvLayout layout = planned_convolution(kDims, x, weight, {}, o).layout;
  Shape kernel, stride, padding, dilation;
  for (int d = 0; d < kDims; ++d) {
    const auto at = static_cast<std::size_t>(d);
    kernel.push_back(weight.size(2 + d));
    stride.push_back(layout.stride[at]);
    padding.push_back(layout.padding[at]);
    dilation.push_back(layout.dilation[at]);
  }
  set_kernel(w, kDims, PerDim(kernel), PerDim(stride), PerDim(padding), PerDim(dilation));
  w.groups = layout.groups;
  w.channels /= w.groups;
}

// The bias of one output channel as a part of its sum, which has to fit into 32 bits whatever the bytes
// are. Weights that are next to nothing beside their bias, as those of a dead channel, get a coarser scale
// for it. `folds`: the zero point's part is in the bias. Returns the largest magnitude of the result.
double fit_sums(ProductNumbers& p, std::size_t o, double x_scale, std::int64_t zero, bool folds,
                IntegerStep& step) {
  std::int8_t* const w = p.weight.data() + o * p.terms;
  if (std::all_of(w, w + p.terms,
                  [](std::int8_t q) { return q == 0; })) {  // any scale will do, so the bias's
    const double bias = p.bias[o] == 0 ? 0 : std::copysign(std::ldexp(1, 29), p.bias[o]);
    p.scale[o] = std::abs(p.bias[o]) / (x_scale * std::ldexp(1, 29));
    step.bias.push_back(static_cast<std::int32_t>(bias));
    return std::abs(p.bias[o]);
  }
  for (;;) {
    const double bias = std::nearbyint(p.bias[o] / (x_scale * p.scale[o]));
    double sum = 0, magnitudes = 0, low = bias, high = bias;
    for (std::size_t i = 0; i < p.terms; ++i) {
      const auto weight = static_cast<double>(w[i]);
      const double up = weight * static_cast<double>(255 - zero), down = weight * static_cast<double>(-zero);
      sum += weight, magnitudes += std::abs(weight);
      low += std::min(up, down), high += std::max(up, down);
    }
    const double folded = folds ? bias - static_cast<double>(zero) * sum : bias;
    if (std::max(std::abs(bias), std::abs(folded)) + 255 * magnitudes <= kMostSum) {
      step.bias.push_back(static_cast<std::int32_t>(folded));
      return std::max(std::abs(low), std::abs(high)) * x_scale * p.scale[o];
    }
    p.scale[o] *= 2;
    for (std::size_t i = 0; i < p.terms; ++i)
      w[i] = static_cast<std::int8_t>(std::nearbyint(static_cast<double>(w[i]) / 2));
  }
}

// Values that are needed at the same time lie apart: from the step that makes one to the last that reads
// it.
void place(IntegerNetwork& network) {
  std::vector<ArenaBlock> blocks;
  for (const IntegerValue& v : network.values) {
    const std::int64_t bytes = v.numel() * (v.is_bytes ? 1 : 4);
    if (v.numel() >= kNoBound / 4)
      refuse_layer("so large a network", str("a value between its layers has ", v.numel(), " numbers"),
                   "write it as ONNX");
    blocks.push_back({static_cast<std::size_t>((bytes + 3) / 4 * 4), 0, 0, 0});
  }
  for (std::size_t s = 0; s < network.steps.size(); ++s) {
    const int at = static_cast<int>(s) + 1;
    blocks[network.steps[s].to].first = blocks[network.steps[s].to].last = at;
    for (const std::size_t f : network.steps[s].from) blocks[f].last = at;
  }
  blocks[network.output].last = static_cast<int>(network.steps.size()) + 1;
  network.arena = static_cast<std::int64_t>(place_in_arena(blocks));
  if (network.arena >= kNoBound)
    refuse_layer("so large a network", str("its arena would have ", network.arena, " bytes"),
                 "write it as ONNX");
  for (std::size_t i = 0; i < blocks.size(); ++i) network.values[i].offset = blocks[i].offset;
  for (const IntegerStep& s : network.steps)
    network.constants +=
        std::ssize(s.weight) + 4 * std::ssize(s.bias) + 4 * std::ssize(s.multiplier) + std::ssize(s.shift);
}

void add_multiplier(IntegerStep& step, double x, const std::string& layer) {
  const Multiplier m = multiplier_of(x, layer);
  step.multiplier.push_back(m.value);
  step.shift.push_back(m.shift);
}

// So that places in and around the planes are numbers of 32 bits.
void check_window(const IntegerWindow& w, const std::string& layer) {
  constexpr std::int64_t kMost = 32767;
  for (const std::int64_t n : {w.kernel_height, w.kernel_width, w.stride_y, w.stride_x, w.pad_top, w.pad_left,
                               w.dilation_y, w.dilation_x})
    if (n > kMost)
      refuse_layer(layer, str("a kernel, stride, padding or dilation of ", n, " is beyond ", kMost),
                   "write it as ONNX");
}

class IntegerBuilder {
 public:
  explicit IntegerBuilder(const Flow& flow) : flow_(flow) {}

  IntegerNetwork build() {
    const FlowNode& input = flow_.nodes[0];
    if (!input.bytes)
      refuse_layer("a network whose input no quantised layer takes", "its bytes would have no range",
                   "begin it with Linear or a convolution");
    value_of_[0] = new_value(input.shape, input.bytes, 0);
    for (std::size_t i = 1; i < flow_.nodes.size(); ++i) {
      if (flow_.nodes[i].takers.empty() && i != flow_.output) continue;
      if (!value_of_.contains(i)) make(i);
    }
    out_.output = as_numbers(flow_.output, "the network");
    place(out_);
    return std::move(out_);
  }

 private:
  using Bytes = std::optional<FlowNode::Format>;

  std::size_t new_value(const Shape& shape, const Bytes& bytes, double bound) {
    IntegerValue v{.shape = shape, .is_bytes = bytes.has_value(), .bound = bound};
    if (bytes)
      v.scale = static_cast<double>(bytes->scale), v.zero = static_cast<int>(bytes->zero);
    else
      v.scale = std::ldexp(1, exponent_for(bound));
    out_.values.push_back(v);
    return out_.values.size() - 1;
  }

  std::size_t as_numbers(std::size_t node, const std::string& taker) const {
    const std::size_t value = value_of_.at(node);
    if (out_.values[value].is_bytes)
      refuse_layer(taker, "it takes the network's input, and is no product", "begin with Linear or Conv2d");
    return value;
  }
  // The value of a node as such bytes, made of its numbers where it is none.
  std::size_t as_bytes(std::size_t node, const FlowNode::Format& format, const std::string& taker) {
    const std::size_t value = value_of_.at(node);
    if (out_.values[value].is_bytes) {
      if (flow_.nodes[node].bytes != format)
        refuse_layer(taker, "another layer takes the same bytes by another range",
                     "quantize the network again");
      return value;
    }
    for (const auto& [from, made] : converted_)
      if (from.first == node && from.second == format) return made;
    const IntegerValue numbers = out_.values[value];
    IntegerStep step{.kind = Kind::bytes, .layer = "bytes for " + taker, .from = {value}, .to = 0};
    add_multiplier(step, numbers.scale / static_cast<double>(format.scale), taker);
    step.to = new_value(numbers.shape, format, 0);
    converted_.push_back({{node, format}, step.to});
    out_.steps.push_back(std::move(step));
    return converted_.back().second;
  }
  std::size_t taken_by(std::size_t node, std::size_t taker) {
    const FlowNode& by = flow_.nodes[taker];
    if (by.op == Op::product) return as_bytes(node, *by.input, by.name);
    const bool keeps = by.op == Op::bound || by.op == Op::max_pool;
    return keeps && by.bytes ? as_bytes(node, *by.bytes, by.name) : as_numbers(node, by.name);
  }

  void make(std::size_t i) {
    const FlowNode& node = flow_.nodes[i];
    std::vector<std::size_t> from;
    for (const std::size_t f : node.from) from.push_back(taken_by(f, i));
    IntegerStep step{.kind = Kind::bound, .layer = node.name, .from = std::move(from), .to = 0};
    // An activation that alone takes the result is a part of the step.
    std::size_t last = i;
    const nn::Module* activation = node.op == Op::bound ? node.module : nullptr;
    if ((node.op == Op::product || node.op == Op::sum) && i != flow_.output && node.takers.size() == 1 &&
        flow_.nodes[node.takers[0]].op == Op::bound) {
      last = node.takers[0];
      activation = flow_.nodes[last].module;
      step.layer += ", " + activation->title();
    }
    const Bytes& bytes = flow_.nodes[last].bytes;
    if (node.op == Op::product) {
      make_product(node, step, bytes);
    } else if (node.op == Op::sum) {
      make_sum(node, step);
    } else {
      if (node.op == Op::max_pool || node.op == Op::mean_pool) {
        step.kind = node.op == Op::max_pool ? Kind::max_pool : Kind::mean_pool;
        step.window = window_over(node);
        if (!set_pool<1>(node, step) && !set_pool<2>(node, step)) set_adaptive_pool(node, step);
      }
      step.to = new_value(node.shape, node.op == Op::mean_pool ? std::nullopt : bytes,
                          out_.values[step.from[0]].bound);
    }
    check_window(step.window, node.name);
    set_bounds(step, out_.values[step.to], activation);
    // Everything that takes numbers takes them as they are.
    value_of_[i] = value_of_[last] = step.to;
    out_.steps.push_back(std::move(step));
  }

  void make_sum(const FlowNode& node, IntegerStep& step) {
    step.kind = Kind::sum;
    double bound = 0;
    for (const std::size_t f : step.from) bound += out_.values[f].bound;
    for (const std::size_t f : step.from)
      if (out_.values[f].shape != node.shape)
        refuse_layer(node.name, "its inputs have different shapes", "write the network as ONNX");
    step.to = new_value(node.shape, std::nullopt, bound);
    for (const std::size_t f : step.from) {
      const double ratio = out_.values[step.to].scale / out_.values[f].scale;
      step.shift.push_back(static_cast<std::uint8_t>(std::clamp(std::ilogb(ratio), 0, kMostShift)));
    }
  }

  void make_product(const FlowNode& node, IntegerStep& step, const Bytes& bytes) {
    const IntegerValue& x = out_.values[step.from[0]];
    ProductNumbers p = numbers_of(node);
    const std::int64_t zero = x.zero;
    const double x_scale = x.scale;
    if (dynamic_cast<const nn::Linear*>(node.module)) {
      step.kind = Kind::linear;
      if (dynamic_cast<const nn::Linear*>(node.module)->has_lora())
        refuse_layer(node.name, "it has an adapter", "merge the adapter, and quantize the network again");
      if (node.taken.rank() != 1)
        refuse_layer(node.name, str("it takes rows, ", node.taken), "flatten its input, or write ONNX");
      step.window.channels = node.taken[0], step.window.out_channels = node.shape[0];
    } else {
      step.kind = Kind::convolution;
      step.window = window_over(node);
      node.taken.rank() == 2 ? set_convolution<1>(node, step.window) : set_convolution<2>(node, step.window);
    }
    double bound = 0;
    for (std::size_t o = 0; o < p.scale.size(); ++o)
      bound = std::max(bound, fit_sums(p, o, x_scale, zero, step.kind == Kind::linear, step));
    step.weight = std::move(p.weight);
    step.to = new_value(node.shape, bytes, bound);
    const double out_scale = out_.values[step.to].scale;
    for (const double scale : p.scale) add_multiplier(step, x_scale * scale / out_scale, node.name);
    out_.multiplies += static_cast<std::int64_t>(p.terms) * numel(node.shape);
  }

  const Flow& flow_;
  IntegerNetwork out_;
  std::map<std::size_t, std::size_t> value_of_;  // of each node
  std::vector<std::pair<std::pair<std::size_t, FlowNode::Format>, std::size_t>> converted_;
};

}  // namespace

std::int64_t IntegerValue::numel() const { return veldt::numel(shape); }

IntegerNetwork integer_network(const nn::Module& network, const Shape& input) {
  const Flow flow = flow_of(network, input);
  return IntegerBuilder(flow).build();
}

}  // namespace veldt::publish
