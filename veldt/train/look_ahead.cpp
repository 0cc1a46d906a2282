// The checks of a Trainer before a fit: a suitable rate, whether one batch can be learned, and the cost of a
// step.
#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/tensor/graph.h"
#include "veldt/train/copies.h"
#include "veldt/train/trainer.h"

namespace veldt::train {
namespace {

constexpr double kSmoothing = 0.9;  // of the losses of a search
constexpr double kTooMuch = 4;      // times the smallest loss: the rate is too high

}  // namespace

// Restores everything that steps change, and the mode. `takes_steps`: otherwise there is nothing to restore
// but the mode and gradients, and no copy is made, nor a state that the optimizer does not have yet.
class Trainer::AsBefore {
 public:
  explicit AsBefore(Trainer& trainer, bool takes_steps = true)
      : trainer_(trainer), was_training_(trainer.model_.training()), takes_steps_(takes_steps) {
    if (takes_steps) {
      model_ = copies_of(trainer.model_.state_dict());
      optimizer_ = copies_of(trainer.players_[0].optimizer.state_dict());
      others_ = copies_of(trainer.players_.state());
    }
    if (!was_training_) trainer.model_.train();
  }
  // Restoring allocates memory. A failure is reported, unless another exception is already being thrown.
  ~AsBefore() noexcept(false) {
    try {
      put_back();
    } catch (...) {
      if (std::uncaught_exceptions() == failures_) throw;
    }
  }
  AsBefore(const AsBefore&) = delete;
  AsBefore& operator=(const AsBefore&) = delete;

  // The batches of step i, on the optimizer's device.
  std::vector<data::Batch> batches(data::Loader& loader, std::int64_t i) const {
    std::vector<data::Batch> all;
    const std::int64_t parts = trainer_.options_.accumulate;
    for (std::int64_t k = 0; k < parts; ++k)
      all.push_back(data::moved(loader.batch(i * parts + k), trainer_.device()));
    return all;
  }
  double step(const std::vector<data::Batch>& batches) {
    const Tensor loss = trainer_.differentiate(batches);
    trainer_.take_step();
    return loss.item();
  }

 private:
  void put_back() {
    for (std::size_t turn = 0; turn < trainer_.players_.turns(); ++turn) trainer_.players_.zero_grad(turn);
    if (takes_steps_) {
      trainer_.model_.load_state_dict(model_);
      trainer_.players_[0].optimizer.load_state_dict(optimizer_);
      std::map<std::string, Tensor> others;
      for (const auto& [name, tensor] : others_) others.emplace(name, tensor);
      trainer_.players_.load_state(others);
    }
    if (!was_training_) trainer_.model_.eval();
  }

  Trainer& trainer_;
  const int failures_ = std::uncaught_exceptions();
  bool was_training_, takes_steps_;
  NamedTensors model_, optimizer_, others_;
};

RateSearch Trainer::find_rate(data::Loader& loader, const RateSearchOptions& options) {
  if (!(options.lowest > 0) || !(options.highest > options.lowest) || !std::isfinite(options.highest) ||
      options.steps < 10)
    throw ConfigError(str("cannot look for a rate from ", options.lowest, " to ", options.highest, " in ",
                          options.steps, " steps"),
                      "rates rise from above 0, in ten steps or more",
                      "give rates in this order, and enough steps");
  if (players_.size() > 1)
    throw ConfigError(str("cannot look for the rates of ", players_.size(), " players"),
                      "a search is along one rate, and the loss of a player depends on all of them",
                      "look with one optimizer, or try rates");
  AsBefore now(*this);
  RateSearch found;
  const double factor =
      std::pow(options.highest / options.lowest, 1 / static_cast<double>(options.steps - 1));
  double average = 0, least = 0;
  for (std::int64_t i = 0; i < options.steps; ++i) {
    const double rate = options.lowest * std::pow(factor, static_cast<double>(i));
    players_[0].optimizer.set_lr(rate);
    const double loss = now.step(now.batches(loader, i));
    average = kSmoothing * average + (1 - kSmoothing) * loss;
    const double smooth = average / (1 - std::pow(kSmoothing, static_cast<double>(i + 1)));
    if (!std::isfinite(smooth)) break;
    least = i == 0 ? smooth : std::min(least, smooth);
    found.rates.push_back(rate);
    found.losses.push_back(smooth);
    if (least > 0 && smooth > kTooMuch * least) break;
  }
  // The slope over a tenth of the search, because the losses of batches differ. After the minimum the loss no
  // longer falls.
  double steepest = 0;
  const std::ptrdiff_t reach = std::max<std::int64_t>(options.steps / 20, 2);
  const auto end = std::min_element(found.losses.begin(), found.losses.end()) - found.losses.begin();
  for (std::ptrdiff_t i = 2 * reach; i + reach <= end; ++i) {
    const auto loss = [&](std::ptrdiff_t at) { return found.losses[static_cast<std::size_t>(at)]; };
    const double fall = loss(i - reach) - loss(i + reach);
    if (fall > steepest) steepest = fall, found.suggestion = found.rates[static_cast<std::size_t>(i)];
  }
  if (found.suggestion == 0)
    throw ConfigError("no rate makes the loss smaller",
                      str("it was tried from ", options.lowest, " to ", options.highest),
                      "check the loss and the labels, or look at lower rates");
  return found;
}

std::vector<double> Trainer::overfit_batch(data::Loader& loader, std::int64_t steps) {
  AsBefore now(*this);
  const std::vector<data::Batch> batch{data::moved(loader.batch(0), device())};
  std::vector<double> losses;
  for (std::int64_t i = 0; i < steps; ++i) losses.push_back(now.step(batch));
  return losses;
}

StepFacts Trainer::step_facts(data::Loader& loader) {
  const AsBefore now(*this, false);
  const std::vector<data::Batch> batches = now.batches(loader, 0);
  return veldt::step_facts([&] {
    const Tensor loss = differentiate(batches);
    take_step();
    return loss;
  });
}

}  // namespace veldt::train
