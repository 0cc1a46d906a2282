// All that a training of `veldt train` is made of: a recipe, or a model that is taught further.
// Tests: tests/app/train_test.cpp, tests/app/prune_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veldt/compress/pruner.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/trained.h"
#include "veldt/train/trainer.h"

namespace veldt::app {

// What is to be learned: a recipe, and of a model file the network to begin with.
struct Taught {
  recipe::Recipe recipe;
  std::optional<recipe::Trained> start = {};
  std::string path = {};  // of the model
};
// Of a TOML file, or of a model file or the folder of a run, with other values for keys. Throws as
// recipe::read() and recipe::load().
Taught recipe_or_model(const std::string& path, const std::vector<std::string>& sets);

// A recipe, its data, the network and all that trains it.
struct Training {
  // Throws UsageError for a model whose weights do not fit its recipe as it was changed, or the data.
  Training(const Taught& taught, const std::string& folder, Device device);
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  // Of the run; 0: not known.
  std::int64_t steps() const;
  std::int64_t steps_between_evaluations() const;

  recipe::Recipe recipe;
  recipe::Data data;
  nn::Graph model;
  data::Loader train;
  std::unique_ptr<optim::Optimizer> optimizer;
  std::optional<train::Adaptation> adapt;
  std::optional<compress::Pruner> pruner;
  std::optional<train::Trainer> trainer;
  std::optional<data::Loader> validation, test;
};

}  // namespace veldt::app
