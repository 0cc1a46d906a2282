// Pruning while a network learns: more and more of its weights go, and what has gone stays away.
//   compress::Pruner pruner(net, {.what = {.share = 0.9}, .begin = 500, .end = 4000, .every = 100});
//   trainer.fit(train, &validation, {.epochs = 6, .follower = &pruner});
// Tests: tests/compress/pruner_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/compress/prune.h"
#include "veldt/nn/module.h"
#include "veldt/train/follower.h"

namespace veldt::compress {

enum class PruneMethod {
  // Weights near 0 go, and do not come back.
  magnitude,
  // Weights that learning moves towards 0 go, wherever they are: the score is minus the sum of weight times
  // gradient over all steps (Sanh et al. 2020, "Movement pruning"). One that has gone keeps its value beside
  // the network, and may come back. It needs the gradients of all weights, so neither f16 nor an optimizer
  // that is shared out.
  movement,
};

struct PrunerOptions {
  PruneOptions what = {};  // a pattern is put on at step `begin`, and stays
  PruneMethod method = PruneMethod::magnitude;
  // The share of the weights that are gone rises from 0 after step `begin` to all of it after step `end`, by
  // the cubic of Zhu & Gupta 2017, every so many steps. With the same for both it is cut at once.
  std::int64_t begin = 0, end = 0, every = 100;
  // Weights that are 0 when the run begins stay 0: a network that was pruned before. Alone if the share is 0.
  bool keep_zeros = false;
  std::vector<std::string> except = {};  // as prunable()
};

class Pruner final : public train::Follower {
 public:
  // Shares the network's parameters. Throws ConfigError as prunable() and masks_of(), for steps that are
  // not in order, for a movement that is to keep zeros, and for a network without such weights.
  Pruner(const nn::Module& network, PrunerOptions options);

  // The share that is to be gone after so many steps, 0..1. Not with a pattern, which takes what it takes.
  double share_after(std::int64_t step) const;
  // 1 for each weight that is there; they change with the steps.
  const NamedTensors& masks() const { return masks_; }

  void begin(std::int64_t step) override;
  void stepped(std::int64_t step) override;
  void finish() override { apply(); }
  bool settled(std::int64_t step) const override;
  bool wants_gradients() const override { return moves(); }
  NamedTensors state() override;
  std::string text() const override;

 private:
  bool moves() const { return options_.method == PruneMethod::movement; }
  bool has_pattern() const { return options_.what.of > 0; }
  bool cuts_after(std::int64_t step) const;
  void cut(std::int64_t step);
  void look_at_gradients();
  void apply();

  PrunerOptions options_;
  NamedTensors weights_, masks_;
  // Of movement: minus the sum of weight times gradient, and the weights with those that are gone.
  NamedTensors scores_, whole_;
};

}  // namespace veldt::compress
