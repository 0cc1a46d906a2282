// What [prune] of a recipe says, as what goes along with its training.
// Tests: tests/app/prune_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "veldt/compress/pruner.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

// "2:4" as N and M. Throws UsageError naming `source`.
void read_pattern(const io::Source& source, const std::string& text, compress::PruneOptions& into);
// Throws UsageError naming the line for keys that contradict each other.
void check_pruning(const Recipe& recipe);
// For a run of so many steps; 0: not known. None unless the recipe prunes. Throws UsageError naming the line.
std::optional<compress::Pruner> pruner_of(const Recipe& recipe, const nn::Module& model, std::int64_t steps);

}  // namespace veldt::recipe
