// The network of a recipe.
// Tests: tests/recipe/model_test.cpp, tests/app/train_recipes_test.cpp, tests/fuzz/commands.cpp
#pragma once

#include <cstdint>
#include <limits>

#include "veldt/nn/sequential.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

// The input and output of the network: the shape of an example without the first dimension, and the value of
// "outputs" in its layers.
struct ModelFacts {
  Shape input = {};
  DType dtype = DType::f32;
  std::int64_t outputs = 0;
};

// Names and arguments of the layers and of the initialiser, as far as they can be checked without data.
// Throws UsageError naming the line.
void check_model(const Recipe& recipe);

// The layers one after the other, each built for the output of the ones before it. Throws UsageError naming
// the line for a layer that does not exist or does not fit. With `most_parameters`, for the recipe of a model
// file, which may ask for anything: also throws as soon as there are more parameters than the file holds.
nn::Sequential build_model(const Recipe& recipe, const ModelFacts& facts,
                           double most_parameters = std::numeric_limits<double>::infinity());

// The network of a TOML text, of which [model] is enough:
//   recipe::build_model("[model]\nlayers = [\"Flatten\", \"Linear(outputs)\"]", {.input = {1, 28, 28},
//   .outputs = 10});
// Throws as parse_model() and as above.
nn::Sequential build_model(const std::string& toml, const ModelFacts& facts);

// The names of all layers.
std::vector<std::string> layer_names();

}  // namespace veldt::recipe
