// The network of a recipe.
#pragma once

#include <cstdint>

#include "veldt/app/recipe.h"
#include "veldt/nn/sequential.h"

namespace veldt::app {

// What the network is given and is to give: an example without its first dimension, and how many numbers
// "outputs" and "vocabulary" stand for in its layers.
struct ModelFacts {
  Shape input = {};
  DType dtype = DType::f32;
  std::int64_t outputs = 0;
};

// The layers one after the other, each built for what the ones before it give. Throws UsageError naming the
// line for a layer that does not exist or does not fit.
nn::Sequential build_model(const Recipe& recipe, const ModelFacts& facts);

// The layers there are.
std::vector<std::string> layer_names();

}  // namespace veldt::app
