// How a recipe is trained and measured: optimizer, rate, loss, metrics, loaders.
// Tests: tests/app/train_recipes_test.cpp, tests/app/train_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "veldt/recipe/data.h"
#include "veldt/recipe/recipe.h"
#include "veldt/train/trainer.h"

namespace veldt::recipe {

// Names and arguments of optimizer, schedule, loss and metrics, as far as they can be checked without data.
// Throws UsageError naming the line.
void check_training(const Recipe& recipe);

// `further`: what it has besides the model's parameters.
std::unique_ptr<optim::Optimizer> optimizer_of(const Recipe& recipe, const nn::Module& model,
                                               const NamedTensors& further = {});
// The schedule, or none if the rate stays. `steps`: the length of the run.
std::optional<optim::Schedule> schedule_of(const Recipe& recipe, double lr, std::int64_t steps);
// A table's errors are in the units of its target, although the target is learned as a standard score. Throws
// UsageError naming the line for a loss or a metric that does not exist or does not fit the data.
train::TrainerOptions trainer_options_of(const Recipe& recipe, const Facts& facts);

// The score of the validation set that tells which weights, and which of several runs, are best.
struct Watched {
  std::string name;  // "accuracy"
  bool larger_is_better = false;
};
Watched watched_of(const Recipe& recipe);
// The same of another score than train.watch's.
Watched watched_of(const Recipe& recipe, const std::string& watch);

data::Loader training_loader(const Recipe& recipe, const Data& data);
// For measuring: in order. `seed` is for a Data::prepare that draws, which no recipe's does.
data::Loader measuring_loader(const Recipe& recipe, const Data& data, const data::DatasetPtr& set,
                              std::uint64_t seed = 0);

}  // namespace veldt::recipe
