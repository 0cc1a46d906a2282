// Puts off what evaluations write, for a second at most.
#include "veldt/train/fit_files.h"

#include <filesystem>
#include <vector>

#include "veldt/train/warn.h"

namespace veldt::train {
namespace {

constexpr double kWrittenEvery = 1;  // seconds

// A line of metrics.csv.
void add_measures(MetricsFile& file, const Evaluation& e) {
  std::vector<std::string> columns{"step", "epoch", "train_loss", "learning_rate", "seconds", "waiting"};
  std::vector<double> values{
      static_cast<double>(e.step), e.epoch, e.train_loss, e.learning_rate, e.seconds, e.waiting};
  const auto add = [&](const std::string& prefix, const Scores& scores) {
    for (const auto& [name, value] : scores) {
      columns.push_back(prefix + name);
      values.push_back(value);
    }
  };
  add("validation_", e.scores);
  add("train_loss_", e.train_losses);
  add("learning_rate_", e.learning_rates);
  file.add(columns, values);
}

}  // namespace

FitFiles::FitFiles(nn::Module& model, Averages& average, const FitOptions& options, const Events& events,
                   const std::string& score, bool larger_is_better)
    : events_(events), best_weights_(model, average, options, events, score, larger_is_better) {
  if (!options.out.empty()) metrics_.emplace((std::filesystem::path(options.out) / "metrics.csv").string());
}

void FitFiles::begin(std::int64_t step) {
  if (metrics_) metrics_->begin(step);
  best_weights_.begin(step);
}

bool FitFiles::is_time() const {
  return !written_at_ || std::chrono::duration<double>(Clock::now() - *written_at_).count() >= kWrittenEvery;
}

bool FitFiles::judge(std::int64_t step, double score, FitState& state) {
  return best_weights_.judge(step, score, state, is_time());
}

void FitFiles::add(const Evaluation& evaluation) {
  if (metrics_) add_measures(*metrics_, evaluation);
  if (is_time()) write();
}

void FitFiles::write() {
  best_weights_.write();
  if (metrics_) written_or_warned(events_, [this] { metrics_->write(); });
  written_at_ = Clock::now();
}

}  // namespace veldt::train
