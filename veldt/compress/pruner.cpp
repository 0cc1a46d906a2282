// Raises the share of weights that are gone by a schedule, and keeps them away after each step.
#include "veldt/compress/pruner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::compress {
namespace {

void check_steps(const PrunerOptions& o) {
  if (o.begin < 0 || o.end < o.begin || o.every < 1)
    throw ConfigError(fmt::format("a network cannot be pruned from step {} to step {}, every {} steps",
                                  o.begin, o.end, o.every),
                      "the steps are 0 or more and in order, and at least one lies between two cuts",
                      "give, for example, .begin = 500, .end = 4000, .every = 100");
  if (o.method == PruneMethod::movement && o.keep_zeros)
    throw ConfigError("movement pruning cannot keep weights at 0",
                      "by it any weight that has gone may come back",
                      "choose PruneMethod::magnitude, or set keep_zeros = false");
}

NamedTensors filled_like(const NamedTensors& weights, double value) {
  NamedTensors all;
  for (const auto& [name, tensor] : weights)
    all.push_back({name, full(tensor.shape(), value, tensor.dtype(), tensor.device())});
  return all;
}

}  // namespace

Pruner::Pruner(const nn::Module& network, PrunerOptions options)
    : options_(std::move(options)), weights_(prunable(network, options_.except)) {
  check_steps(options_);
  if (weights_.empty())
    throw ConfigError("there is nothing to prune",
                      "the network has no weights of two dimensions or more, but for those in `except`",
                      "prune a network with convolutions or linear layers");
  const NoGrad off;
  for (const NamedTensor& weight : weights_)
    if (!weight.tensor.requires_grad() && moves())
      throw ConfigError(fmt::format("movement pruning cannot judge {}", weight.name),
                        "the parameter is frozen, so nothing moves it", "name it in except");
  masks_of(magnitudes({weights_.front()}), options_.what);  // checks the numbers
  masks_ = filled_like(weights_, 1);
  if (!moves()) return;
  scores_ = filled_like(weights_, 0);
  for (const auto& [name, tensor] : weights_) whole_.push_back({name, clone(tensor.detach())});
}

double Pruner::share_after(std::int64_t step) const {
  const double last = options_.what.share;
  if (step < options_.begin) return 0;
  if (step >= options_.end) return last;
  const double t =
      static_cast<double>(step - options_.begin) / static_cast<double>(options_.end - options_.begin);
  return last * (1 - std::pow(1 - t, 3));
}

bool Pruner::settled(std::int64_t step) const {
  return step >= (has_pattern() ? options_.begin : options_.end);
}

bool Pruner::cuts_after(std::int64_t step) const {
  if (has_pattern()) return step == options_.begin;
  if (step < options_.begin || step > options_.end || options_.what.share == 0) return false;
  return step == options_.end || (step - options_.begin) % options_.every == 0;
}

void Pruner::begin(std::int64_t step) {
  for (const auto& [name, mask] : masks_)
    if (!all((mask == 0) | (mask == 1)).item<bool>())
      throw IoError(IoError::Kind::corrupt,
                    fmt::format("the mask of {} holds other numbers than 0 and 1", name),
                    "it says which weights are gone", "start a new run");
  if (step > 0) return;
  if (options_.keep_zeros) masks_ = masks_of_zeros(weights_);
  if (cuts_after(0)) cut(0);
  apply();
}

void Pruner::look_at_gradients() {
  const NoGrad off;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const Tensor weight = weights_[i].tensor.detach();
    whole_[i].tensor.assign(where(masks_[i].tensor != 0, weight, whole_[i].tensor));
    scores_[i].tensor.assign(scores_[i].tensor - weights_[i].tensor.grad() * whole_[i].tensor);
  }
}

void Pruner::cut(std::int64_t step) {
  const NoGrad off;
  NamedTensors scores = scores_;
  if (!moves()) {
    scores = magnitudes(weights_);
    // Gone before, and so below those that happen to be 0.
    for (std::size_t i = 0; i < scores.size(); ++i)
      scores[i].tensor = where(masks_[i].tensor != 0, scores[i].tensor,
                               full({}, -1, scores[i].tensor.dtype(), scores[i].tensor.device()));
  }
  PruneOptions now = options_.what;
  now.share = share_after(step);
  const NamedTensors masks = masks_of(scores, now);
  for (std::size_t i = 0; i < masks.size(); ++i) {
    masks_[i].tensor.assign(moves() ? masks[i].tensor : masks_[i].tensor * masks[i].tensor);
    if (moves()) weights_[i].tensor.detach().assign(whole_[i].tensor);
  }
}

void Pruner::stepped(std::int64_t step) {
  if (moves() && step <= options_.end) look_at_gradients();
  if (cuts_after(step)) cut(step);
  apply();
}

void Pruner::apply() {
  const NoGrad off;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    Tensor weight = weights_[i].tensor.detach();
    weight.assign(weight * masks_[i].tensor);
  }
}

NamedTensors Pruner::state() {
  NamedTensors all;
  for (const auto& [name, tensor] : masks_) all.push_back({"mask." + name, tensor});
  for (const auto& [name, tensor] : scores_) all.push_back({"movement." + name, tensor});
  for (const auto& [name, tensor] : whole_) all.push_back({"whole." + name, tensor});
  return all;
}

std::string Pruner::text() const {
  const PruneOptions& what = options_.what;
  return fmt::format("{} {} {} {} {}:{} {}..{} {} {} {}", moves() ? "movement" : "magnitude", what.share,
                     what.scope == PruneScope::layer ? "layer" : "network", options_.except.size(), what.keep,
                     what.of, options_.begin, options_.end, options_.every, options_.keep_zeros,
                     fmt::join(options_.except, ","));
}

}  // namespace veldt::compress
