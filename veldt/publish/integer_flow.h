// Which layers a network calls, in order, and whose results each of them takes.
// Tests: tests/publish/network_header_test.cpp
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "veldt/nn/module.h"

namespace veldt::publish {

// A call of a layer that computes something. Layers that pass on what they were given are none.
struct FlowNode {
  enum class Op : std::uint8_t { input, product, bound, max_pool, mean_pool, sum };
  // Bytes that stand for (q - zero) scale.
  struct Format {
    float scale, zero;
    friend bool operator==(const Format&, const Format&) = default;
  };

  Op op;
  const nn::Module* module;
  std::string name;  // "'2', Conv2d(..)"
  std::vector<std::size_t> from;
  Shape taken, shape;                // of one example: its input and its result
  std::optional<Format> input = {};  // of a product

  // Found backwards, from the network's output.
  std::vector<std::size_t> takers = {};
  std::optional<Format> bytes = {};  // what all its takers want; otherwise numbers
};

struct Flow {
  std::vector<FlowNode> nodes;  // the first is the network's input
  std::size_t output = 0;
};

// Throws ConfigError as integer_network().
Flow flow_of(const nn::Module& network, const Shape& input);

[[noreturn]] void refuse_layer(const std::string& layer, const std::string& why, const std::string& fix);

}  // namespace veldt::publish
