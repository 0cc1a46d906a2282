// Keeps the weights of a fit's best evaluation, in its folder or in memory, and those of the next best in
// files.
// Tests: tests/train/trainer_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "veldt/nn/module.h"
#include "veldt/train/averages.h"
#include "veldt/train/events.h"
#include "veldt/train/fit_state.h"
#include "veldt/train/top_weights.h"
#include "veldt/train/trainer.h"

namespace veldt::train {

class BestWeights {
 public:
  // Keeps references. `average`: of the weights, kept instead of them if there is any. `score`: the name of
  // the watched score.
  BestWeights(nn::Module& model, Averages& average, const FitOptions& options, const Events& events,
              std::string score, bool larger_is_better);

  // Call before the first step of a new or resumed run.
  void begin(std::int64_t step);
  // Whether the score of an evaluation is the best so far. If so, keeps its weights and updates the state:
  // `now` in the file, else in memory until write(). A file that cannot be written is a warning.
  bool judge(std::int64_t step, double score, FitState& state, bool now);
  // Writes the weights that wait in memory.
  void write();
  // Restores the weights of the best evaluation, even from before a resumption: those that were measured, so
  // averages if there are any. `step`: the model's current step.
  void restore(std::int64_t step, const FitState& state);

 private:
  // Weights that no file holds. They `wait` for one if there is a folder.
  struct Kept {
    FitState::Best best;
    NamedTensors weights;
    bool waits = false;
  };

  std::string path() const;
  bool write(const FitState::Best& best, const NamedTensors& weights);
  bool load_file(std::int64_t step);

  nn::Module& model_;
  Averages& average_;
  const FitOptions& options_;
  const Events& events_;
  std::string score_;
  bool larger_is_better_;
  std::optional<Kept> kept_;
  std::optional<TopWeights> top_;
};

}  // namespace veldt::train
