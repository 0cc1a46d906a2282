// The layers of a recipe as a graph: blocks with parameters, repetitions, shortcuts, and values that are
// saved and read again.
// Tests: tests/recipe/network_test.cpp, tests/recipe/model_test.cpp, tests/fuzz/commands.cpp
#pragma once

#include <utility>

#include "veldt/nn/graph.h"
#include "veldt/recipe/layers.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

// Goes through all layers as build_network() does, without shapes: names, arguments, blocks that hold
// themselves, sizes beyond all bounds. Throws UsageError naming the line.
void check_network(const Recipe& recipe);

// The network, and the shape of its output for one example, [1, ..]. Throws as build_model().
std::pair<nn::Graph, Shape> build_network(const Recipe& recipe, const ModelFacts& facts, Rng& rng,
                                          double most_parameters);

}  // namespace veldt::recipe
