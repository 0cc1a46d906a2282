// A trained network as a file: its weights, its recipe, and what it has to know about its data.
// Tests: tests/app/train_recipes_test.cpp, tests/app/train_test.cpp, tests/fuzz/models.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/nn/sequential.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/recipe.h"
#include "veldt/train/metric.h"

namespace veldt::recipe {

// The "kind" in the metadata of such a file; "recipe", "facts" and "scores" there are JSON.
inline constexpr const char* kTrainedKind = "veldt.recipe";

struct Trained {
  Recipe recipe;
  Facts facts;
  nn::Sequential model;
};

// Throws IoError unwritable.
void save(const std::string& path, const Recipe& recipe, const Facts& facts, const nn::Module& model,
          const train::Scores& scores);
// In evaluation mode. Throws IoError missing, malformed for a file that is not such a model, and corrupt.
Trained load(const std::string& path);

// The recipe's keys and values as JSON, except for the keys in `without`.
std::string in_json(const Recipe& recipe, const std::vector<std::string>& without = {});

}  // namespace veldt::recipe
