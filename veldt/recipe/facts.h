// What a network of a recipe has to know of its data: names, sizes, how numbers are scaled.
// Tests: tests/recipe/data_test.cpp, tests/app/faults_test.cpp,
// tests/fuzz/models.cpp
#pragma once

#include <functional>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/data/subword_tokenizer.h"
#include "veldt/recipe/model.h"

namespace veldt::recipe {

// Is told how many rows of a picture are done, of how many; returns false to stop.
using RowsHeard = std::function<bool(std::int64_t rows, std::int64_t all)>;

// How numbers are scaled for a network: (x - mean) / deviation.
struct Scaling {
  double mean = 0, deviation = 1;
};

// What a model needs to be used without its training data; a model file keeps it.
struct Facts {
  ModelFacts model;
  std::vector<std::string> classes;                  // of pictures
  std::shared_ptr<const data::Tokenizer> tokenizer;  // of text
  Scaling scaling;                                   // of a series, or of a table's target
  std::vector<std::string> inputs;                   // of a table, and how each of these columns is scaled
  std::vector<Scaling> columns;
  std::int64_t examples = 0;  // pictures, rows, tokens or values that parts were taken from; 0: not known
};
// As the JSON object of a model file; load_data() has seen that its names are UTF-8.
std::string in_json(const Facts& facts);
// The text is untrusted. Throws IoError malformed naming `where`.
Facts facts_from_json(std::string_view text, const std::string& where);

// Columns [.., columns] as the network sees them.
Tensor scaled_columns(const Tensor& x, const std::vector<Scaling>& columns);

}  // namespace veldt::recipe
