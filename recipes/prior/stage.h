// A stage of the prior's training: a loss, a mix of crops, a rate and a number of steps.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "recipes/prior/crops.h"
#include "veldt/field/prior.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/ema.h"
#include "veldt/train/loop.h"

namespace veldt::prior {

struct Stage {
  double drawings = 0.3;  // share of crops
  double rate = 1e-3;     // the highest
  std::int64_t steps = 0;
  std::uint64_t seed = 0;

  // After 100 steps of warm-up half a cosine, down to a fiftieth.
  double rate_at(std::int64_t step) const;
};

// 16 crops that are learned at 4x and 8 that are learned at 2x, all of kSide x kSide pixels when shrunk.
// Which they are is a function of seed and step.
class StageTask : public train::Task {
 public:
  static constexpr std::int64_t kSide = 24, kFour = 16, kTwo = 8;

  StageTask(field::Prior& prior, const Crops& crops, const Stage& stage);

  nn::Module& model() override { return prior_; }
  optim::Optimizer& optimizer() override { return adam_; }
  void prepare(std::int64_t step, std::int64_t steps) override;
  Tensor loss() override;
  bool repeats() const override { return true; }
  void stepped(double) override { average_.update(); }
  NamedTensors own_state() override { return average_.state_dict(); }
  void load_own_state(const std::map<std::string, Tensor>& saved) override;
  bool reached(std::int64_t) override { return false; }
  std::map<std::string, std::string> metadata() const override { return {{"kind", "veldt.prior_training"}}; }

  // What is evaluated and kept: the average of the weights over about 1000 steps.
  optim::Ema& average() { return average_; }

 private:
  Tensor pixels_of(const Tensor& truth, std::int64_t scale) const;
  Tensor error(const Tensor& drawn, const Tensor& truth) const;

  field::Prior& prior_;
  const Crops& crops_;
  Stage stage_;
  optim::Adam adam_;
  optim::Ema average_;
  Tensor four_, two_;  // the truth, [crops, 1, height, width]
};

}  // namespace veldt::prior
