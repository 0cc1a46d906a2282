// Layers that are computed from the data before the first step.
// Tests: tests/recipe/views_test.cpp
#pragma once

#include "veldt/nn/module.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

// Fits each WhiteningConv2d of the network to what comes in there, of 512 training pictures without
// augmentation, which the recipe's seed chooses. Does nothing without such a layer.
void begin_whitening(const Recipe& recipe, const Data& data, const nn::Module& network);

}  // namespace veldt::recipe
