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
#include "veldt/dist/sum_tree.h"
#include "veldt/train/tally.h"
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

namespace {

// A loader that a fit takes parts of may be the one to be measured on.
class WholeBatches {
 public:
  explicit WholeBatches(data::Loader& loader) : loader_(loader), before_(loader.parts()) {
    loader.take_parts({});
  }
  ~WholeBatches() { loader_.take_parts(before_); }
  WholeBatches(const WholeBatches&) = delete;
  WholeBatches& operator=(const WholeBatches&) = delete;

 private:
  data::Loader& loader_;
  data::Parts before_;
};

}  // namespace

void Trainer::tally(const data::Batch& given, Tally& into, const Look& look) const {
  bool all_have_own = !into.has_metrics() && !look;  // outputs
  for (std::size_t i = 0; i < players_.size(); ++i) all_have_own = all_have_own && players_[i].forward;
  const data::Batch batch = data::moved(given, device());
  const TensorList outputs = all_have_own ? TensorList() : options_.forward(model_, batch);
  for (std::size_t i = 0; i < players_.turns(); ++i) {
    const Player& player = players_[i];
    const auto [loss, weight] = weighed_loss(player.loss ? player.loss : options_.loss,
                                             player.forward ? player.forward(model_, batch) : outputs, batch);
    into.add_loss(i, loss, weight);
  }
  into.add(outputs, batch);
  if (look) look(outputs, batch);
}

Scores Trainer::evaluate(data::Loader& loader, const Look& look) { return evaluate(loader, nullptr, look); }

// Of several ranks each takes its share of the batches.
Scores Trainer::evaluate(data::Loader& loader, dist::Communicator* ranks, const Look& look) {
  const nn::Evaluating now(model_);
  const NoGrad off;
  const WholeBatches whole(loader);
  std::optional<Averages::Swapped> averaged;
  if (players_.averages().updates() > 0) averaged.emplace(players_.averages());
  const auto nothing = [&] { return Tally(players_.turns(), options_.metrics); };
  Tally all = nothing();
  if (ranks != nullptr && all.state()) {
    const dist::Leaves share = dist::share_of_leaves(loader.batches(), ranks->rank(), ranks->size());
    std::vector<std::vector<double>> states;
    for (const data::Batch& batch : loader.range(share.begin, share.end)) {
      Tally one = nothing();
      tally(batch, one);
      states.push_back(*one.state());
    }
    merge_of_all(*ranks, states, all);
  } else {
    for (const data::Batch& batch : loader.epoch(0)) tally(batch, all, look);
  }
  Scores scores;
  for (std::size_t i = 0; i < players_.turns(); ++i)
    scores.push_back({players_.in_turn() ? "loss_" + players_[i].name : "loss", all.loss(i)});
  all.append_metrics(scores);
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
