// A quantised network as steps of integers alone, with every number that they need: what a program without
// Veldt, floats or a heap computes.
// Tests: tests/publish/network_header_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/nn/module.h"

namespace veldt::publish {

// What lies between steps, planes of [channels, height, width] or a list: bytes, of which q stands for
// (q - zero) scale, or integers of 32 bits, of which v stands for v scale, a power of two.
struct IntegerValue {
  Shape shape;
  bool is_bytes = false;
  double scale = 1;
  int zero = 0;
  double bound = 0;        // of 32 bits: no magnitude is larger
  std::size_t offset = 0;  // bytes from the arena's beginning
  std::int64_t numel() const;
};

// Windows over planes: sizes of a convolution or a pooling. Channels: of the input in one group.
struct IntegerWindow {
  std::int64_t channels = 1, height = 1, width = 1, out_channels = 1, out_height = 1, out_width = 1;
  std::int64_t kernel_height = 1, kernel_width = 1, stride_y = 1, stride_x = 1, pad_top = 0, pad_left = 0;
  std::int64_t dilation_y = 1, dilation_x = 1, groups = 1;
};

struct IntegerStep {
  // convolution and linear: a sum of (byte - zero) weight, and bias, for each output channel; times
  // multiplier / 2^shift, rounded, and the zero point of the result, within low .. high.
  // bound: within low .. high. bytes: of 32 bits as bytes, by multiplier[0] and shift[0]. sum: each of 32
  // bits over 2^shift, within low .. high.
  enum class Kind : std::uint8_t { convolution, linear, max_pool, mean_pool, sum, bound, bytes };

  Kind kind;
  std::string layer;  // its title, for a comment
  std::vector<std::size_t> from;
  std::size_t to;
  IntegerWindow window = {};
  std::vector<std::int8_t> weight = {};
  std::vector<std::int32_t> bias = {}, multiplier = {};
  std::vector<std::uint8_t> shift = {};
  std::int64_t low = 0, high = 0;
  bool whole = false;  // of a mean: over the kernel's size, padding too
};

struct IntegerNetwork {
  std::vector<IntegerValue> values;  // the first is the input
  std::vector<IntegerStep> steps;
  std::size_t output = 0;       // of 32 bits
  std::int64_t arena = 0;       // bytes, a multiple of 4
  std::int64_t constants = 0;   // bytes
  std::int64_t multiplies = 0;  // and additions, of a call
};

// Of a network in evaluation whose weights have integers of 8 bits and inputs of fixed ranges. `input`: the
// shape of one example. Throws ConfigError that names the layer for one that has no such form: there are
// Linear, Conv1d, Conv2d, MaxPool, AvgPool, adaptive pools that divide their input, ReLU, ReLU6, Flatten,
// Dropout, Identity, folded batch norms, Sum, Residual, and what contains them.
IntegerNetwork integer_network(const nn::Module& network, const Shape& input);

}  // namespace veldt::publish
