// How a Trainer measures and predicts: in evaluation mode, with the averaged weights if there are any.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "veldt/nn/evaluating.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"
#include "veldt/train/trainer.h"

namespace veldt::train {

// The loss of a batch and its weight: the number of labels that count for cross entropy of indices, else the
// number of examples.
std::pair<double, double> Trainer::weighed_loss(const Loss& loss, const TensorList& outputs,
                                                const data::Batch& batch) const {
  const Tensor& target = batch.back();
  double weight = static_cast<double>(batch.at(0).size(0));
  if (default_loss_ && !is_float(target.dtype()))
    weight = sum(to(not_equal(target, -100), DType::f64)).item();
  return {loss(outputs, batch).item(), weight};
}

Scores Trainer::evaluate(data::Loader& loader) {
  const nn::Evaluating now(model_);
  const NoGrad off;
  std::optional<Averages::Swapped> averaged;
  if (players_.averages().updates() > 0) averaged.emplace(players_.averages());
  std::vector<std::unique_ptr<Metric>> metrics;
  for (const MetricMaker& make : options_.metrics) metrics.push_back(make());
  bool all_have_own = metrics.empty();  // outputs
  for (std::size_t i = 0; i < players_.size(); ++i) all_have_own = all_have_own && players_[i].forward;
  std::vector<double> totals(players_.turns()), counts(players_.turns());
  for (const data::Batch& given : loader.epoch(0)) {
    const data::Batch batch = data::moved(given, device());
    const TensorList outputs = all_have_own ? TensorList() : options_.forward(model_, batch);
    for (std::size_t i = 0; i < totals.size(); ++i) {
      const Player& player = players_[i];
      const auto [loss, weight] =
          weighed_loss(player.loss ? player.loss : options_.loss,
                       player.forward ? player.forward(model_, batch) : outputs, batch);
      if (weight > 0) totals[i] += loss * weight;
      counts[i] += weight;
    }
    for (const auto& metric : metrics) metric->add_all(outputs, batch);
  }
  Scores scores;
  for (std::size_t i = 0; i < totals.size(); ++i)
    scores.push_back({players_.in_turn() ? "loss_" + players_[i].name : "loss", totals[i] / counts[i]});
  for (const auto& metric : metrics) scores.push_back({metric->name(), metric->value()});
  return scores;
}

Tensor Trainer::predict(data::Loader& loader) {
  const nn::Evaluating now(model_);
  const NoGrad off;
  std::optional<Averages::Swapped> averaged;
  if (players_.averages().updates() > 0) averaged.emplace(players_.averages());
  std::vector<Tensor> outputs;
  for (const data::Batch& batch : loader.epoch(0))
    outputs.push_back(options_.forward(model_, data::moved(batch, device())).at(0));
  return cat(outputs, 0);
}

}  // namespace veldt::train
