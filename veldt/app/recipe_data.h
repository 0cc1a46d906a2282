// The data of a recipe: its sets, what is done to examples, and what a network has to know of them.
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

// How numbers of a series become what a network sees: their logarithm, if so asked, less that of one season
// before, standardised.
struct Scaling {
  double mean = 0, deviation = 1;
};

// What a model needs to be used without its training data; a model file keeps it.
struct DataFacts {
  ModelFacts model;
  std::vector<std::string> classes;                  // of pictures
  std::shared_ptr<const data::Tokenizer> tokenizer;  // of text
  Scaling scaling;                                   // of a series
};
nlohmann::ordered_json facts_in_json(const DataFacts& facts);
// Held for hostile. Throws IoError malformed naming `where`.
DataFacts facts_from_json(const nlohmann::ordered_json& json, const std::string& where);

struct RecipeData {
  DataFacts facts;
  data::DatasetPtr train, validation, test;  // the last two may be null
  data::Transform prepare, augment;          // of all sets; of the training set, prepared afterwards
  data::Collate collate;                     // of all sets
  data::Collate mix;                         // of the training set, if there is one
};

// Reads what the recipe names from below `folder` (--data). `facts` of a trained model takes the place of
// what would be found out from the training data. Throws UsageError and IoError.
RecipeData load_data(const Recipe& recipe, const std::string& folder, const DataFacts* facts = nullptr);

// The transforms of a list, one after the other; none for none.
data::Transform transforms_of(const Written& written);

// A series as a recipe names it. Of a difference to the season before, the first of `scaled` belongs to
// place `lag` of `values`.
struct Series {
  std::vector<double> values;
  std::vector<float> scaled;
  std::size_t lag = 0;
};
// `values` as the network sees them.
Series scaled_series(const Recipe& recipe, const Scaling& scaling, std::vector<double> values);
std::vector<double> read_series(const Recipe& recipe, const std::string& folder);
// What a forecast for place `at` means, given all values before it.
double unscaled(const Recipe& recipe, const Scaling& scaling, const std::vector<double>& values,
                std::size_t at, double forecast);
// Places of a series at which its validation and its test part begin.
std::pair<std::size_t, std::size_t> parts_of(const Recipe& recipe, std::size_t length);

}  // namespace veldt::app
