// The state of a fit between steps, besides its tensors. A checkpoint holds it as a JSON object with named
// keys (docs/formats.md).
// Tests: tests/train/fit_state_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace veldt::train {

struct FitState {
  struct Best {
    std::int64_t step = 0;
    double score = 0;
  };

  // The next batch of a stream.
  struct Place {
    std::int64_t epoch = 0, batch = 0;
  };

  double train_loss = 0;                            // the sum over the steps since the last evaluation
  std::int64_t steps = 0;                           // those
  std::map<std::string, double> train_losses = {};  // the same sums, of players in turn
  std::optional<Best> best = {};
  std::int64_t without_better = 0;  // evaluations
  double seconds = 0;               // of evaluations so far, and the steps before them
  double waited = 0;                // of them, for data to learn from
  std::optional<Place> stream = {};
};

std::string to_json(const FitState& state);

// Throws IoError corrupt if the text is not such an object, has another version or lacks a key; and, naming
// the key, for a value of the wrong type or out of range. Empty text means that the checkpoint has none.
FitState fit_state_from(const std::string& text);

}  // namespace veldt::train
