// A fit of several ranks: which parts of a batch this one computes, and what they tell each other. Gradients
// and errors are summed; what is not part of the steps (the redraw, the closing) rank 0 computes for all.
// Tests: tests/field/ranks_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "veldt/data/loader.h"
#include "veldt/dist/communicator.h"
#include "veldt/field/choices.h"
#include "veldt/field/closing.h"
#include "veldt/field/field.h"
#include "veldt/field/signal.h"
#include "veldt/field/watch.h"
#include "veldt/optim/optimizer.h"
#include "veldt/train/players.h"
#include "veldt/train/together.h"

namespace veldt::field {

class Sharing {
 public:
  // Keeps references. `ranks`: null if there is one process; `parts`: see FitOptions. Throws ConfigError for
  // fewer parts than ranks.
  Sharing(dist::Communicator* ranks, const Network& network, optim::Optimizer& optimizer, std::int64_t parts);

  dist::Communicator& ranks() const { return together_.ranks(); }
  const data::Parts& parts() const { return together_.parts(); }
  // Whether a step can be recorded in a Plan.
  bool may_repeat() const { return together_.may_repeat(); }

  // Before the first step: the pixels of each batch. Throws ConfigError if there are fewer than parts.
  void begin(std::int64_t edges, std::int64_t flats);
  // The gradients of all ranks, and the loss. `backward` gets the number of each of this rank's parts, from
  // 0, and its share of the batch; it returns the detached loss.
  Tensor gradients(const std::function<Tensor(std::size_t part, double share)>& backward) {
    return together_.gradients(0, backward);
  }
  // A number for each of a batch's `n` points, f32 [n], from those of each rank's parts.
  Tensor of_all(const std::vector<Tensor>& own, std::int64_t n) const;

 private:
  train::Players players_;
  train::Together together_;
};

// Null is one process.
bool is_first(const dist::Communicator* ranks);
// Rank 0's number.
double as_first(dist::Communicator* ranks, double number);

// lessons_of() and closing_for() on the ranks of the choices.
std::optional<Signal> shared_lessons(const Signal& signal, const FitChoices& choices, const Watch& watch);
Closing shared_closing(const Field& field, const Signal& signal, const FitChoices& choices,
                       const Heard& heard);

}  // namespace veldt::field
