// A task that learns in microseconds: a line through points, by Adam, on one batch of a few that the step
// chooses.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veldt/data/sampler.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/ops/create.h"
#include "veldt/ops/gather.h"
#include "veldt/optim/adam.h"
#include "veldt/train/loop.h"

namespace veldt::test {

class SmallTask : public train::Task {
 public:
  SmallTask()
      : rng_(5), layer_(4, 3, rng_), adam_(layer_.named_parameters(), {.lr = 0.01}), sampler_(50, 8, 3) {
    Rng rng(6);
    x_ = rand({50, 4}, rng, -1, 1);
    y_ = rand({50, 3}, rng, -1, 1);
  }

  nn::Module& model() override { return layer_; }
  optim::Optimizer& optimizer() override { return adam_; }
  void prepare(std::int64_t step, std::int64_t) override {
    if (step == poisoned_step) {
      Tensor weight = layer_.weight();
      weight.data<float>()[0] = -std::numeric_limits<float>::quiet_NaN();
    }
    picked_.assign(sampler_.indices(step));
  }
  Tensor loss() override {
    return mse_loss(layer_(index_select(x_, 0, picked_)), index_select(y_, 0, picked_));
  }
  bool repeats() const override { return planned; }
  void stepped(double) override { learned_.data<float>()[0] += layer_.weight().data<float>()[0]; }
  NamedTensors own_state() override { return {{"learned", learned_}}; }
  std::optional<train::Measure> measure() override { return train::Measure{"skill", 12.5, "points"}; }
  bool reached(std::int64_t steps_done) override { return steps_done == goal; }
  std::map<std::string, std::string> metadata() const override { return {{"kind", "test"}}; }

  // All that a run changes: parameters, the optimizer's state and the task's own, bit for bit.
  std::vector<double> numbers() {
    std::vector<double> all;
    for (const NamedTensors& tensors : {layer_.state_dict(), adam_.state_dict(), own_state()})
      for (const auto& [name, tensor] : tensors) append(all, tensor);
    return all;
  }

  std::int64_t goal = -1;           // steps after which the task is done
  std::int64_t poisoned_step = -1;  // at which the weight gets a NaN, with a sign
  bool planned = false;

 private:
  static void append(std::vector<double>& all, const Tensor& tensor) {
    const auto add = [&all](const auto& values) {
      for (const auto value : values) all.push_back(static_cast<double>(value));
    };
    if (tensor.dtype() == DType::f32) return add(tensor.values<float>());
    if (tensor.dtype() == DType::f64) return add(tensor.values<double>());
    add(tensor.values<std::int64_t>());
  }

  Rng rng_;
  nn::Linear layer_;
  optim::Adam adam_;
  data::BatchSampler sampler_;
  Tensor learned_ = zeros({1});  // of the steps so far: lost if a checkpoint leaves it out
  Tensor x_, y_, picked_ = empty({8}, DType::i64);
};

// A rate that falls with the position, so that a resumed run has to find its place.
inline train::RunOptions small_run(std::int64_t steps, const std::string& directory = "") {
  train::RunOptions options;
  options.steps = steps;
  options.rate = [](std::int64_t position) { return 0.02 / (1 + 0.1 * static_cast<double>(position)); };
  options.checkpoint_dir = directory;
  options.config = R"({"task":"small"})";
  return options;
}

// Ends a run after so many steps, as Ctrl-C does.
inline train::Events stop_after(std::int64_t steps) {
  train::Events events;
  auto done = std::make_shared<std::int64_t>(0);
  events.should_stop = [done, steps] { return ++*done >= steps; };
  return events;
}

}  // namespace veldt::test
