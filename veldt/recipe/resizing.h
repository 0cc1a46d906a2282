// Pictures that are small at first: train.progressive_resizing.
// Tests: tests/recipe/resizing_test.cpp, tests/app/train_recipes_test.cpp
#pragma once

#include <cstdint>
#include <optional>

#include "veldt/data/progressive.h"
#include "veldt/nn/module.h"
#include "veldt/recipe/facts.h"
#include "veldt/recipe/recipe.h"
#include "veldt/train/trainer.h"

namespace veldt::recipe {

// What the recipe says of it; none if it says nothing. Throws UsageError naming the line, also where no
// number of steps is given.
std::optional<data::ProgressiveResizing> resizing_of(const Recipe& recipe);
// For FitOptions::adapt, in a run of that many steps: none without the key. Throws as above, and UsageError
// if the network cannot compute pictures of a size that will come.
std::optional<train::Adaptation> adapt_of(const Recipe& recipe, const Facts& facts, const nn::Module& network,
                                          std::int64_t steps);

}  // namespace veldt::recipe
