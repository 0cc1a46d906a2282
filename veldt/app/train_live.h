// What a training by a recipe shows on its page and in its report.
// Tests: tests/app/live_test.cpp, tests/app/pages_test.py
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "veldt/app/live_run.h"
#include "veldt/app/train_flags.h"
#include "veldt/live/looks.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/recipe.h"
#include "veldt/train/trainer.h"

namespace veldt::app {

// `say`: puts a note on the terminal.
LiveRun::Options options_of_live(const TrainFlags& flags, std::function<void(const std::string&)> say);
// The recipe's values as facts.
void show_recipe(LiveRun& live, const recipe::Recipe& recipe, Device device);
// The same, and the network's layers, as far as it takes a single input; of a text samples. Keeps references.
void show_training(LiveRun& live, const recipe::Recipe& recipe, const recipe::Data& data, nn::Graph& model,
                   Device device);

// Counts what the test set's pictures are taken for while they are measured. Nothing but classes is counted.
class TestOutcome {
 public:
  TestOutcome(const recipe::Recipe& recipe, const recipe::Data& data);
  // For Trainer::evaluate(); empty if there is nothing to count.
  train::Trainer::Look look();
  void show(LiveRun& live) const;

 private:
  const recipe::Data& data_;
  std::optional<live::Confusions> confusions_;
};

}  // namespace veldt::app
