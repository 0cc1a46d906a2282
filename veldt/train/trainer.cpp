// The parts of a Trainer's step: loss, gradients, the optimizer's step, measures.
#include "veldt/train/trainer.h"

#include <utility>

#include "veldt/core/error.h"
#include "veldt/nn/losses.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/autocast.h"
#include "veldt/tensor/graph.h"
#include "veldt/train/together.h"

namespace veldt::train {
namespace {

TensorList first_of(const nn::Module& model, const data::Batch& batch) { return {model(batch.at(0))}; }

// Numbers may be probabilities of classes or anything else; what is to be learned of them must be said.
Tensor cross_entropy_of(const Tensor& output, const data::Batch& batch) {
  const Tensor& targets = batch.back();
  if (is_float(targets.dtype()))
    throw ConfigError(str("there is no loss for targets ", targets.dtype(), ' ', targets.shape()),
                      "the default, cross entropy, is for labels, and these are numbers",
                      "set TrainerOptions::loss, such as [](const Tensor& y, const data::Batch& b) { return "
                      "mse_loss(y, b.back()); }, or convert labels with to(x, DType::i64)");
  return cross_entropy(output, targets);
}

}  // namespace

Trainer::Trainer(nn::Module& model, optim::Optimizer& optimizer, TrainerOptions options)
    : Trainer(model, {{.name = "", .optimizer = optimizer}}, std::move(options)) {}

Trainer::Trainer(nn::Module& model, std::vector<Player> players, TrainerOptions options)
    : model_(model),
      options_(std::move(options)),
      players_(model, std::move(players), options_.ema_decay, options_.autocast == DType::f16) {
  if (options_.accumulate < 1)
    throw ConfigError(str("cannot accumulate ", options_.accumulate, " batches"), "a step needs one at least",
                      "give 1 for a step after each batch");
  if (players_.in_turn() && options_.loss)
    throw ConfigError("TrainerOptions::loss is nobody's", "each player has a loss of its own",
                      "leave it out, or give the players none");
  if (!options_.forward) options_.forward = first_of;
  default_loss_ = !options_.loss && !players_.in_turn();
  if (default_loss_) options_.loss = cross_entropy_of;
  const Autocast checked(options_.autocast);
  if (players_.in_turn())
    losses_ = zeros({static_cast<std::int64_t>(players_.size())},
                    players_[0].optimizer.slab().values().dtype(), device());
}

Tensor Trainer::loss_of(std::size_t turn, const data::Batch& batch) const {
  const Autocast now(options_.autocast);
  const Player& player = players_[turn];
  const Forward& forward = player.forward ? player.forward : options_.forward;
  const TensorList outputs = forward(model_, batch);
  Tensor value = (player.loss ? player.loss : options_.loss)(outputs, batch);
  if (options_.instead && !player.loss) value = options_.instead(value, outputs, batch);
  const std::string whose = player.loss ? str("the loss of ", player.name) : "the loss";
  if (value.numel() != 1)
    throw ShapeError(str(whose, " has the shape ", value.shape()), "training needs one number to minimise",
                     "give a loss that is a mean or a sum");
  if (player.loss && !value.requires_grad())
    throw Error(str(whose, " depends on none of its optimizer's parameters"),
                "those of other players are constants in its turn",
                "compute it with what the player is to learn, and not from detached outputs");
  return value;
}

Tensor Trainer::gradients(std::size_t turn, const std::vector<data::Batch>& batches,
                          const std::function<void(std::size_t, const Tensor&)>& after_each) const {
  const auto backward = [&](const Tensor& part) {
    players_.scaled(turn, part).backward();
    if (after_each) after_each(turn, part);
    return part.detach();
  };
  if (together_ != nullptr)
    return together_->gradients(turn, [&](std::size_t i, double share) {
      return batches[i].empty() ? Tensor() : backward(loss_of(turn, batches[i]) * share);
    });
  Tensor sum;
  for (const data::Batch& batch : batches) {
    const Tensor part = backward(loss_of(turn, batch) / static_cast<double>(batches.size()));
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

Tensor Trainer::differentiate(const std::vector<data::Batch>& batches,
                              const std::function<void(std::size_t, const Tensor&)>& after_each) {
  Tensor total;
  for (std::size_t turn = 0; turn < players_.turns(); ++turn) {
    if (turn > 0) players_.step(turn - 1);
    const Players::Turn now(players_, turn);
    players_.zero_grad(turn);
    const Tensor sum = gradients(turn, batches, after_each);
    if (players_.in_turn()) {
      Tensor place = select(losses_, 0, static_cast<std::int64_t>(turn));
      place.assign(reshape(to(sum, losses_.dtype()), {}));
    }
    total = total.defined() ? total + sum : sum;
  }
  return total;
}

Scores Trainer::losses() const {
  Scores all;
  if (!players_.in_turn()) return all;
  const std::vector<double> values = to(losses_, DType::f64).values<double>();
  for (std::size_t i = 0; i < players_.size(); ++i) all.push_back({players_[i].name, values[i]});
  return all;
}

// The score of that name; if empty, the first metric or the loss.
std::string Trainer::watched(const std::string& name) const {
  Scores known;
  if (!players_.in_turn()) known.push_back({"loss", 0});
  for (const auto& [player, value] : losses()) known.push_back({"loss_" + player, 0});
  const std::size_t losses = known.size();
  for (const MetricMaker& make : options_.metrics) known.push_back({make()->name(), 0});
  if (!name.empty()) {
    score(known, name);
    return name;
  }
  if (known.size() > losses) return known[losses].first;
  if (players_.in_turn())
    throw ConfigError(
        "nothing says which evaluation of players is best", "they have a loss each, and there is no metric",
        str("set FitOptions::watch to loss_", players_[0].name, ", give a metric, or no validation set"));
  return known.front().first;
}

bool Trainer::larger_is_better(const std::string& name) const {
  for (const MetricMaker& make : options_.metrics)
    if (const std::unique_ptr<Metric> metric = make(); metric->name() == name)
      return metric->larger_is_better();
  return false;  // a loss
}

}  // namespace veldt::train
