// The data of a recipe: its sets, the transforms of its examples, and what a network has to know about them.
// Tests: tests/app/recipe_data_test.cpp, tests/app/data_show_test.cpp, tests/app/faults_test.cpp,
// tests/fuzz/commands.cpp, tests/fuzz/models.cpp
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "veldt/app/recipe.h"
#include "veldt/app/recipe_model.h"
#include "veldt/data/loader.h"
#include "veldt/data/tokenizer.h"

namespace veldt::app {

// How numbers are scaled for a network: (x - mean) / deviation.
struct Scaling {
  double mean = 0, deviation = 1;
};

// What a model needs to be used without its training data; a model file keeps it.
struct DataFacts {
  ModelFacts model;
  std::vector<std::string> classes;                  // of pictures
  std::shared_ptr<const data::Tokenizer> tokenizer;  // of text
  Scaling scaling;                                   // of a series, or of a table's target
  std::vector<std::string> inputs;                   // of a table, and how each of these columns is scaled
  std::vector<Scaling> columns;
  std::int64_t examples = 0;  // pictures, rows, tokens or values that parts were taken from; 0: not known
};
nlohmann::ordered_json facts_in_json(const DataFacts& facts);
// The text is untrusted. Throws IoError malformed naming `where`.
DataFacts facts_from_json(const nlohmann::ordered_json& json, const std::string& where);

struct RecipeData {
  DataFacts facts;
  data::DatasetPtr train, validation, test;  // the last two may be null
  data::Transform prepare, augment;          // of all sets; of the training set, prepared afterwards
  data::Collate collate;                     // of all sets
  data::Collate mix;                         // of the training set, if there is one
};

// Reads what the recipe names from below `folder` (--data). `facts` of a trained model replaces what would be
// computed from the training data. Throws UsageError and IoError.
RecipeData load_data(const Recipe& recipe, const std::string& folder, const DataFacts* facts = nullptr);

// The transforms of a list, one after the other; null for an empty list.
data::Transform transforms_of(const Written& written);

// Columns [.., columns] as the network sees them.
Tensor scaled_columns(const Tensor& x, const std::vector<Scaling>& columns);

// A path in the recipe, resolved below the folder of --data.
std::string below(const std::string& folder, const std::string& path);

}  // namespace veldt::app
