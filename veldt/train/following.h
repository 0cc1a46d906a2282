// A fit's follower, or none.
// Tests: tests/compress/pruner_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "veldt/core/error.h"
#include "veldt/train/follower.h"

namespace veldt::train {

class Following {
 public:
  // Throws ConfigError for averages of the weights, and for gradients that are not as it wants them: scaled,
  // or shared out.
  Following(Follower* follower, bool averages, bool scaled, bool shared) : follower_(follower) {
    if (follower_ == nullptr) return;
    if (averages)
      throw ConfigError("a follower and averages of the weights contradict each other",
                        "the averages would be of weights that it has not changed",
                        "set TrainerOptions::ema_decay = 0, or leave out FitOptions::follower");
    if (follower_->wants_gradients() && (scaled || shared))
      throw ConfigError(str("the follower cannot read gradients ", scaled ? "of f16" : "that are shared out"),
                        scaled ? "they are scaled by a number that changes"
                               : "each process has those of a part of the parameters",
                        scaled ? "train in bf16 or f32" : "set FitOptions::share_optimizer = false");
  }
  void begin(std::int64_t step) const {
    if (follower_ != nullptr) follower_->begin(step);
  }
  void stepped(std::int64_t step) const {
    if (follower_ != nullptr) follower_->stepped(step);
  }
  void finish() const {
    if (follower_ != nullptr) follower_->finish();
  }
  bool settled(std::int64_t step) const { return follower_ == nullptr || follower_->settled(step); }
  NamedTensors with_state(NamedTensors all) const {
    if (follower_ == nullptr) return all;
    for (const auto& [name, tensor] : follower_->state()) all.push_back({kPrefix + name, tensor});
    return all;
  }
  void load_state(const std::map<std::string, Tensor>& saved) const {
    if (follower_ == nullptr) return;
    for (auto& [name, tensor] : follower_->state()) tensor.assign(saved.at(kPrefix + name));
  }

 private:
  static inline const std::string kPrefix = "follower.";  // of its tensors' names in a checkpoint

  Follower* follower_;
};

}  // namespace veldt::train
