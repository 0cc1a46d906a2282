// The network of a recipe.
// Tests: tests/recipe/model_test.cpp, tests/app/train_recipes_test.cpp, tests/fuzz/commands.cpp
#pragma once

#include <limits>
#include <string>

#include "veldt/nn/graph.h"
#include "veldt/recipe/layers.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

// Names and arguments of the layers, the blocks and the initialiser, or of the architecture, as far as they
// can be checked without data. Throws UsageError naming the line.
void check_model(const Recipe& recipe);
// Throws UsageError for one of [values] whose name stands in no layer, in no block and in no other value: it
// would change nothing. Not for programs that look at `recipe.values` themselves.
void check_values_are_read(const Recipe& recipe);

// The layers one after the other, each built for the output of the ones before it, and named by its place in
// the list or by its own name: "0.weight", "stem.weight", "3.1.conv.weight" for the second of a repeated
// block. Throws UsageError naming the line for a layer that does not exist or does not fit. With
// `most_parameters`, for the recipe of a model file, which may ask for anything: also throws as soon as there
// are more parameters than the file holds.
nn::Graph build_model(const Recipe& recipe, const ModelFacts& facts,
                      double most_parameters = std::numeric_limits<double>::infinity());

// What such a network reads, for one example: zeros for tokens, else normal random numbers of a fixed seed;
// and its second input if it has two.
TensorList example_for(const ModelFacts& facts);

// The network of a TOML text, of which [model] is enough:
//   recipe::build_model("[model]\nlayers = [\"Flatten\", \"Linear(outputs)\"]", {.input = {1, 28, 28},
//   .outputs = 10});
// Throws as parse_model() and as above.
nn::Graph build_model(const std::string& toml, const ModelFacts& facts);

}  // namespace veldt::recipe
