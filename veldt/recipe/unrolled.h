// A recipe whose layers are all written out: for networks whose layers have become different, although one
// text made several of them.
// Tests: tests/recipe/unrolled_test.cpp
#pragma once

#include <map>
#include <string>

#include "veldt/nn/graph.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

// Other values for arguments, by the layer's path: {"1.0.conv", {{"out", "17"}}}.
using LayerChanges = std::map<std::string, std::map<std::string, std::string>>;

// The recipe of the same network, `network`, without words, repetitions and blocks that are used twice: each
// place has a block of its own, "at_1_0" for what was called "1.0". Parameters keep their names. Throws
// UsageError as build_model(), and for more blocks than a recipe may have.
Recipe unrolled(const Recipe& recipe, const nn::Graph& network, std::int64_t outputs,
                const LayerChanges& changes = {});

}  // namespace veldt::recipe
