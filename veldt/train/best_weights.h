// Keeps the weights of a fit's best evaluation, in its folder or in memory, and of the next best in files.
// Tests: tests/train/trainer_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "veldt/nn/module.h"
#include "veldt/optim/ema.h"
#include "veldt/train/events.h"
#include "veldt/train/fit_state.h"
#include "veldt/train/top_weights.h"
#include "veldt/train/trainer.h"

namespace veldt::train {

class BestWeights {
 public:
  // Keeps references. `average`: of the weights, which is kept in their place; may be null. `score`: the name
  // of what is watched.
  BestWeights(nn::Module& model, optim::Ema* average, const FitOptions& options, const Events& events,
              std::string score, bool larger_is_better);

  // Before the first step, of a run that goes on from there or begins.
  void begin(std::int64_t step);
  // Whether the score of an evaluation is the best so far: then its weights are kept, and the state says so.
  // A file that cannot be written is a warning.
  bool judge(std::int64_t step, double score, FitState& state);
  // Puts the weights of the best evaluation back, also of one before a resumption: those that were measured,
  // so averages, if there are any. `step`: where the model is.
  void restore(std::int64_t step, const FitState& state);

 private:
  std::string path() const;
  bool load_file(std::int64_t step);

  nn::Module& model_;
  optim::Ema* average_;
  const FitOptions& options_;
  const Events& events_;
  std::string score_;
  bool larger_is_better_;
  std::optional<NamedTensors> kept_;  // where no file holds them
  std::optional<TopWeights> top_;
};

}  // namespace veldt::train
