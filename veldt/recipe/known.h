// Known networks in recipes: [model] architecture = "resnet18", from = "resnet18.pth".
// Tests: tests/recipe/known_test.cpp, tests/app/train_known_test.cpp, tests/fuzz/commands.cpp
#pragma once

#include <string>
#include <utility>

#include "veldt/models/about.h"
#include "veldt/nn/graph.h"
#include "veldt/recipe/layers.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

// The name of the architecture and its options. Throws UsageError naming the line.
void check_known(const Recipe& recipe);

// The network for such data, under its own names, and the shape of its output for one example, [1, ..].
// Throws as build_model().
std::pair<nn::Graph, Shape> build_known(const Recipe& recipe, const ModelFacts& facts, Rng& rng,
                                        double most_parameters);

// Takes the weights of model.from, if it is given, and freezes what model.freeze names. A new head stays as
// it is. Throws UsageError for a name that no parameter begins with, and for a file that does not fit; as
// io::load_state().
void begin_known(const Recipe& recipe, nn::Module& network);

// How the architecture wants its pictures.
models::Preprocessing preprocessing_of(const Recipe& recipe);
// Whether it brings them to its size itself, by models::prepare_planes(): unless data.prepare, or data.height
// and data.width, say another.
bool fits_pictures(const Recipe& recipe);
// The beginning of names that is meant: of "head", the name that this architecture's has.
std::string prefix_of(const Recipe& recipe, const std::string& name);

}  // namespace veldt::recipe
