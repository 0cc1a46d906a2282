// One of several optimizers of a Trainer, with what it minimises.
//   train::Trainer gan(model, {{.name = "critic", .optimizer = critic_adam, .loss = tells_apart},
//                              {.name = "painter", .optimizer = painter_adam, .loss = deceives}},
//                      {.forward = all_outputs});
// Tests: tests/train/players_test.cpp
#pragma once

#include <string>

#include "veldt/optim/optimizer.h"
#include "veldt/train/step_parts.h"

namespace veldt::train {

// If each player has a loss, they take turns in every step, in their order: a player's turn computes its
// loss, with the parameters that those before it have just changed, and takes its optimizer's step. The
// parameters of all others are constants meanwhile, and get no gradient. If none has a loss, all minimise the
// Trainer's, by one backward pass.
struct Player {
  std::string name;  // letters, digits and '_'; in scores, metrics.csv and checkpoints: "loss_critic"
  optim::Optimizer& optimizer;
  Loss loss = {};
  Forward forward = {};  // if there is none: the Trainer's
};

}  // namespace veldt::train
