// How a recipe is trained and measured: optimizer, rate, loss, metrics, loaders.
#pragma once

#include <memory>
#include <optional>

#include "veldt/app/recipe.h"
#include "veldt/app/recipe_data.h"
#include "veldt/train/trainer.h"

namespace veldt::app {

std::unique_ptr<optim::Optimizer> optimizer_of(const Recipe& recipe, const nn::Module& model);
// None, if the rate stays. `steps` is how many there are.
std::optional<optim::Schedule> schedule_of(const Recipe& recipe, double lr, std::int64_t steps);
train::TrainerOptions trainer_options_of(const Recipe& recipe, const DataFacts& facts);

// Distances of a table's numbers in the units of its target, which is learned as a standard score; others,
// and the loss, as they are.
train::Scores in_units(const Recipe& recipe, const DataFacts& facts, train::Scores scores);

data::Loader training_loader(const Recipe& recipe, const RecipeData& data);
// For measuring: in order, without chance.
data::Loader measuring_loader(const Recipe& recipe, const RecipeData& data, const data::DatasetPtr& set);

}  // namespace veldt::app
