// The table of layers that a recipe may name: how each reads its arguments, and how it is made for its input.
// Tests: tests/recipe/model_test.cpp, tests/recipe/network_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/nn/module.h"
#include "veldt/recipe/call.h"

namespace veldt::recipe {

// The input and output of the network: the shape of an example without the first dimension, and the value of
// "outputs" in its layers.
struct ModelFacts {
  Shape input = {};
  DType dtype = DType::f32;
  std::int64_t outputs = 0;
  // Of an output that has more than a number of each: its shape without the first dimension, such as that of
  // a picture.
  Shape output = {};
  // Of a network of two inputs, "source" and "target": the shape of the second.
  Shape target = {};
};

// The place of a layer: the shape of its (first) input, [1, ..].
struct Site {
  const Call& call;
  const Shape& input;
  Rng& rng;

  std::int64_t last() const { return input.back(); }
  // The channels of pictures, and of sequences with channels in front.
  std::int64_t channels() const { return input.rank() < 2 ? input[0] : input[1]; }
};

// Arguments are read before the input is known, so that a wrong one is reported before data are looked for.
using Build = std::function<std::shared_ptr<nn::Module>(const Site&)>;

// Reads the arguments of a layer; the values that it is called with besides its input are then in
// call.values(). Throws UsageError naming the line, which for an unknown layer also lists the recipe's
// blocks.
Build read_layer(Call& call, const ModelFacts& facts, const std::vector<std::string>& blocks);
// The names of all layers.
std::vector<std::string> layer_names();
bool is_layer(const std::string& name);

}  // namespace veldt::recipe
