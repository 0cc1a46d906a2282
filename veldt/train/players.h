// The players of a Trainer, one or several, with the scaler and the average of each, and whose turn it is.
// Tests: tests/train/players_test.cpp
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "veldt/nn/module.h"
#include "veldt/optim/grad_scaler.h"
#include "veldt/train/averages.h"
#include "veldt/train/player.h"

namespace veldt::train {

class Players {
 public:
  // `scaled`: gradients of f16. Throws ConfigError for no players, names that are not words or not unique, a
  // parameter of two players, a loss for some of them alone, and gradients of f16 of several that share one.
  Players(const nn::Module& model, std::vector<Player> players, double ema_decay, bool scaled);

  std::size_t size() const { return all_.size(); }
  const Player& operator[](std::size_t i) const { return all_[i]; }
  // "critic." before the names of a player's state; empty for the only one, which has no name.
  std::string prefix(std::size_t i) const { return all_[i].name.empty() ? "" : all_[i].name + "."; }
  // Whether each has a loss; then there is a turn for each, otherwise one for all.
  bool in_turn() const { return static_cast<bool>(all_.front().loss); }
  std::size_t turns() const { return in_turn() ? size() : 1; }

  // While it exists, no parameter gets a gradient but of those whose turn it is.
  class Turn {
   public:
    Turn(const Players& players, std::size_t turn);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::vector<Tensor> stopped_;
  };
  void zero_grad(std::size_t turn);
  // The loss to call backward() on.
  Tensor scaled(std::size_t turn, const Tensor& loss) const;
  void step(std::size_t turn);
  bool is_scaled() const { return !scalers_.empty(); }

  Averages& averages() { return averages_; }
  const Averages& averages() const { return averages_; }
  std::optional<std::string> first_bad_parameter() const;

  // Of averages, scalers, and all optimizers but the first; and the parameters of optimizers that are none of
  // the model's, such as a distiller's regressors.
  NamedTensors state() const;
  void load_state(const std::map<std::string, Tensor>& saved);

 private:
  template <class Visit> void each_of(std::size_t turn, const Visit& visit) const {
    for (std::size_t i = in_turn() ? turn : 0; i < (in_turn() ? turn + 1 : size()); ++i) visit(i);
  }
  void check() const;

  std::vector<Player> all_;
  std::vector<NamedTensors> further_;        // of each, its parameters that are none of the model's
  std::vector<std::vector<Tensor>> others_;  // for each turn, the parameters that are constants then
  std::deque<optim::GradScaler> scalers_;    // which cannot be moved
  Averages averages_;
};

}  // namespace veldt::train
