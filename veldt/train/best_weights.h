// Keeps the weights of a fit's best evaluation, in its folder or in memory, and those of the next best in
// files.
// Tests: tests/train/trainer_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "veldt/nn/module.h"
#include "veldt/train/averages.h"
#include "veldt/train/events.h"
#include "veldt/train/fit_state.h"
#include "veldt/train/top_weights.h"

namespace veldt::train {

// What is kept, and where; as FitOptions says.
struct BestOptions {
  std::string out = {};  // the folder; empty: weights are kept in memory
  bool restore_best = true;
  std::int64_t keep_top = 0;
  std::map<std::string, std::string> metadata = {};
  std::string score = {};  // the name of the watched score
  bool larger_is_better = false;
};

class BestWeights {
 public:
  // Keeps references. `average`: of the weights, kept instead of them if there is any.
  BestWeights(nn::Module& model, Averages& average, BestOptions options, const Events& events);

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
  BestOptions options_;
  const Events& events_;
  std::optional<Kept> kept_;
  std::optional<TopWeights> top_;
};

}  // namespace veldt::train
