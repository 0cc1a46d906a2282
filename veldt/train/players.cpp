// Checks players, makes the others' parameters constants during a turn, and names their states.
#include "veldt/train/players.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "veldt/core/error.h"

namespace veldt::train {
namespace {

bool is_word(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

constexpr char kFurther[] = "parameters.";  // of the names of those that are none of the model's

// The tensors whose names begin so, without that.
NamedTensors beginning_with(const std::string& prefix, const std::map<std::string, Tensor>& saved) {
  NamedTensors found;
  for (const auto& [name, tensor] : saved)
    if (name.starts_with(prefix)) found.push_back({name.substr(prefix.size()), tensor});
  return found;
}

void append(NamedTensors& all, const std::string& prefix, const NamedTensors& some) {
  for (const auto& [name, tensor] : some) all.push_back({prefix + name, tensor});
}

// The parameters of an optimizer that are not among these.
NamedTensors others_than(const std::vector<Tensor>& known, const optim::Optimizer& optimizer) {
  std::set<const TensorImpl*> own;
  for (const Tensor& p : known) own.insert(p.impl());
  NamedTensors others;
  for (std::size_t i = 0; i < optimizer.parameters().size(); ++i)
    if (const Tensor& p = optimizer.parameters()[i]; !own.contains(p.impl()))
      others.push_back({optimizer.names()[i], p});
  return others;
}

}  // namespace

Players::Players(const nn::Module& model, std::vector<Player> players, double ema_decay, bool scaled)
    : all_(std::move(players)) {
  check();
  if (scaled && size() > turns())
    throw ConfigError("players that share a loss cannot learn in f16",
                      "each optimizer would choose a scale of its own for the one loss",
                      "autocast to bf16, or give each player a loss");
  std::vector<Tensor> every = model.parameters();
  for (const Player& player : all_) further_.push_back(others_than(every, player.optimizer));
  for (const Player& player : all_)
    every.insert(every.end(), player.optimizer.parameters().begin(), player.optimizer.parameters().end());
  for (std::size_t turn = 0; turn < turns(); ++turn) {
    others_.emplace_back();
    if (size() == 1 && all_.front().name.empty()) continue;
    std::set<const TensorImpl*> own;
    each_of(turn, [&](std::size_t i) {
      for (const Tensor& p : all_[i].optimizer.parameters()) own.insert(p.impl());
    });
    for (const Tensor& p : every)
      if (own.insert(p.impl()).second) others_.back().push_back(p);
  }
  for (const Player& player : all_) {
    if (scaled) scalers_.emplace_back(optim::GradScalerOptions{}, player.optimizer.slab().values().device());
    if (ema_decay > 0) averages_.add(player.optimizer, ema_decay);
  }
}

void Players::check() const {
  if (all_.empty()) throw ConfigError("a Trainer needs a player", "none was given", "give an optimizer");
  std::set<std::string> names;
  std::map<const TensorImpl*, const Player*> owners;
  for (const Player& player : all_) {
    if ((size() > 1 || player.loss) && !is_word(player.name))
      throw ConfigError(str("a player cannot have the name '", player.name, "'"),
                        "it is part of column names and of the names of saved tensors",
                        "give a word of letters, digits and '_'");
    if (!names.insert(player.name).second)
      throw ConfigError(str("two players have the name ", player.name), "their scores would have one name",
                        "give each a name of its own");
    if (static_cast<bool>(player.loss) != in_turn())
      throw ConfigError(
          str("the player ", in_turn() ? player.name : all_.front().name, " has no loss, and others do"),
          "players either take turns, each with its loss, or all minimise TrainerOptions::loss",
          "give each a loss, or none");
    if (player.forward && !player.loss)
      throw ConfigError(str("the player ", player.name, " has a forward and no loss"),
                        "its outputs would be used for nothing", "give it a loss, or no forward");
    for (std::size_t i = 0; i < player.optimizer.parameters().size(); ++i) {
      const auto [owner, is_new] = owners.emplace(player.optimizer.parameters()[i].impl(), &player);
      if (!is_new)
        throw ConfigError(str("parameter ", player.optimizer.names()[i], " is in two optimizers, of ",
                              owner->second->name, " and of ", player.name),
                          "only the last one built could change it", "leave it out of one of them");
    }
  }
}

Players::Turn::Turn(const Players& players, std::size_t turn) {
  for (Tensor p : players.others_[turn]) {
    if (!p.requires_grad()) continue;
    stopped_.push_back(p);
    p.set_requires_grad(false);
  }
}

Players::Turn::~Turn() {
  for (Tensor& p : stopped_) p.set_requires_grad(true);
}

void Players::zero_grad(std::size_t turn) {
  each_of(turn, [&](std::size_t i) { all_[i].optimizer.zero_grad(); });
}

Tensor Players::scaled(std::size_t turn, const Tensor& loss) const {
  return is_scaled() ? scalers_[turn].scale(loss) : loss;
}

void Players::step(std::size_t turn) {
  each_of(turn, [&](std::size_t i) {
    if (is_scaled())
      scalers_[i].step(all_[i].optimizer);
    else
      all_[i].optimizer.step();
  });
}

std::optional<std::string> Players::first_bad_parameter() const {
  for (const Player& player : all_)
    if (std::optional<std::string> bad = player.optimizer.first_bad_parameter())
      return player.name.empty() ? *bad : str(*bad, " of ", player.name);
  return std::nullopt;
}

NamedTensors Players::state() const {
  NamedTensors all;
  for (std::size_t i = 0; i < size(); ++i) {
    if (i > 0) append(all, prefix(i) + "optimizer.", all_[i].optimizer.state_dict());
    if (averages_.any()) append(all, prefix(i) + "ema.", averages_[i].state_dict());
    if (is_scaled()) append(all, prefix(i) + "scaler.", scalers_[i].state_dict());
    for (const auto& [name, tensor] : further_[i])
      all.push_back({prefix(i) + kFurther + name, tensor.detach()});
  }
  return all;
}

void Players::load_state(const std::map<std::string, Tensor>& saved) {
  for (std::size_t i = 0; i < size(); ++i) {
    if (i > 0) all_[i].optimizer.load_state_dict(beginning_with(prefix(i) + "optimizer.", saved));
    if (averages_.any()) averages_[i].load_state_dict(beginning_with(prefix(i) + "ema.", saved));
    if (is_scaled()) scalers_[i].load_state_dict(beginning_with(prefix(i) + "scaler.", saved));
    for (const auto& [name, tensor] : further_[i])
      tensor.detach().assign(saved.at(prefix(i) + kFurther + name));
  }
}

}  // namespace veldt::train
