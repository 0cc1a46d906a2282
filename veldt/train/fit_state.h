// What a fit remembers between steps, beside its tensors, and how a checkpoint holds it: as a JSON object
// with named keys (docs/formats.md).
// Tests: tests/train/fit_state_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace veldt::train {

struct FitState {
  struct Best {
    std::int64_t step = 0;
    double score = 0;
  };

  double train_loss = 0;   // the sum over the steps since the last evaluation
  std::int64_t steps = 0;  // those
  std::optional<Best> best = {};
  std::int64_t without_better = 0;  // evaluations
  double seconds = 0;               // of evaluations so far, and the steps before them
  double waited = 0;                // of them, for data to learn from
};

std::string to_json(const FitState& state);

// Throws IoError corrupt for a text that is no such object, of another version, or lacks a key; and for a
// value of the wrong type or one that cannot be, naming its key. An empty text is that of a checkpoint
// without one.
FitState fit_state_from(const std::string& text);

}  // namespace veldt::train
