// The parts of a Trainer's step: loss, gradients, the optimizer's step, measures.
#include "veldt/train/trainer.h"

#include <utility>

#include "veldt/core/error.h"
#include "veldt/nn/losses.h"
#include "veldt/ops/binary.h"
#include "veldt/tensor/autocast.h"
#include "veldt/tensor/graph.h"

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
    : model_(model), optimizer_(optimizer), options_(std::move(options)) {
  if (options_.accumulate < 1)
    throw ConfigError(str("cannot accumulate ", options_.accumulate, " batches"), "a step needs one at least",
                      "give 1 for a step after each batch");
  if (!options_.forward) options_.forward = first_of;
  default_loss_ = !options_.loss;
  if (default_loss_) options_.loss = cross_entropy_of;
  const Autocast checked(options_.autocast);
  if (options_.autocast == DType::f16)
    scaler_.emplace(optim::GradScalerOptions{}, optimizer.slab().values().device());
  if (options_.ema_decay > 0) ema_.emplace(optimizer, optim::EmaOptions{.decay = options_.ema_decay});
}

Tensor Trainer::loss_of(const data::Batch& batch) const {
  const Autocast now(options_.autocast);
  const Tensor value = options_.loss(options_.forward(model_, batch), batch);
  if (value.numel() != 1)
    throw ShapeError(str("the loss has the shape ", value.shape()), "training needs one number to minimise",
                     "give a loss that is a mean or a sum");
  return value;
}

Tensor Trainer::differentiate(const std::vector<data::Batch>& batches,
                              const std::function<void(const Tensor&)>& after_each) {
  optimizer_.zero_grad();
  Tensor sum;
  for (const data::Batch& batch : batches) {
    const Tensor part = loss_of(batch) / static_cast<double>(batches.size());
    (scaler_ ? scaler_->scale(part) : part).backward();
    sum = sum.defined() ? sum + part.detach() : part.detach();
    if (after_each) after_each(part);
  }
  return sum;
}

void Trainer::take_step() {
  if (scaler_)
    scaler_->step(optimizer_);
  else
    optimizer_.step();
}

NamedTensors Trainer::own_state() const {
  NamedTensors all;
  if (ema_)
    for (auto& [name, tensor] : ema_->state_dict()) all.push_back({"ema." + name, tensor});
  if (scaler_)
    for (auto& [name, tensor] : scaler_->state_dict()) all.push_back({"scaler." + name, tensor});
  return all;
}

void Trainer::load_own_state(const std::map<std::string, Tensor>& saved) {
  const auto part = [&](const std::string& prefix) {
    NamedTensors found;
    for (const auto& [name, tensor] : saved)
      if (name.starts_with(prefix)) found.push_back({name.substr(prefix.size()), tensor});
    return found;
  };
  if (ema_) ema_->load_state_dict(part("ema."));
  if (scaler_) scaler_->load_state_dict(part("scaler."));
}

// The score of that name; if empty, the first metric or the loss.
std::string Trainer::watched(const std::string& name) const {
  Scores known{{"loss", 0}};
  for (const MetricMaker& make : options_.metrics) known.push_back({make()->name(), 0});
  if (name.empty()) return known[known.size() > 1 ? 1 : 0].first;
  score(known, name);
  return name;
}

bool Trainer::larger_is_better(const std::string& name) const {
  for (const MetricMaker& make : options_.metrics)
    if (const std::unique_ptr<Metric> metric = make(); metric->name() == name)
      return metric->larger_is_better();
  return false;  // a loss
}

}  // namespace veldt::train
