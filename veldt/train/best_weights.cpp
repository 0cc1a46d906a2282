// Judges evaluations by one score, and writes and reads best.safetensors.
#include "veldt/train/best_weights.h"

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/safetensors.h"
#include "veldt/train/copies.h"
#include "veldt/train/warn.h"

namespace veldt::train {

BestWeights::BestWeights(nn::Module& model, Averages& average, BestOptions options, const Events& events)
    : model_(model), average_(average), options_(std::move(options)), events_(events) {
  if (options_.keep_top > 0 && !options_.out.empty())
    top_.emplace((std::filesystem::path(options_.out) / "top").string(), options_.score, options_.keep_top,
                 options_.larger_is_better);
}

void BestWeights::begin(std::int64_t step) {
  if (top_) written_or_warned(events_, [&] { top_->begin(step); });
}

bool BestWeights::judge(std::int64_t step, double score, FitState& state, bool now) {
  const bool is_best =
      !std::isnan(score) &&
      (!state.best || (options_.larger_is_better ? score > state.best->score : score < state.best->score));
  std::optional<Averages::Swapped> averaged;
  if (average_.any()) averaged.emplace(average_);
  if (top_) written_or_warned(events_, [&] { top_->add(step, score, model_.state_dict()); });
  if (!is_best) {
    ++state.without_better;
    return false;
  }
  state.best = {step, score};
  state.without_better = 0;
  kept_.reset();
  const bool on_disk = now && write(*state.best, model_.state_dict());
  if (!on_disk && (options_.restore_best || (!now && !options_.out.empty())))
    kept_ = Kept{*state.best, copies_of(model_.state_dict()), !options_.out.empty()};
  return true;
}

bool BestWeights::write(const FitState::Best& best, const NamedTensors& weights) {
  return !options_.out.empty() && written_or_warned(events_, [&] {
    std::map<std::string, std::string> metadata = options_.metadata;
    metadata["step"] = std::to_string(best.step);
    metadata[options_.score] = str(best.score);
    io::write_safetensors(path(), weights, metadata);
  });
}

void BestWeights::write() {
  if (!kept_ || !kept_->waits) return;
  if (write(kept_->best, kept_->weights)) kept_.reset();
}

void BestWeights::restore(std::int64_t step, const FitState& state) {
  if (!state.best || state.best->step == step) {
    if (average_.updates() > 0) average_.copy_to_parameters();
  } else if (kept_) {
    model_.load_state_dict(kept_->weights);
  } else if (!load_file(state.best->step)) {
    warn(events_, "the weights of the best evaluation are lost: the last ones stay");
    return;
  }
  average_.restart();
}

std::string BestWeights::path() const {
  return (std::filesystem::path(options_.out) / "best.safetensors").string();
}

// False if the file is missing, or belongs to another evaluation: a killed run may have written it after its
// last checkpoint.
bool BestWeights::load_file(std::int64_t best_step) {
  std::error_code none;
  if (options_.out.empty() || !std::filesystem::exists(path(), none)) return false;
  const io::SafeTensors file = io::read_safetensors(path());
  const auto step = file.metadata.find("step");
  if (step == file.metadata.end() || step->second != std::to_string(best_step)) return false;
  model_.load_state_dict(file.tensors);
  return true;
}

}  // namespace veldt::train
