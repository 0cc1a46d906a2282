// Puts off what evaluations write, for a second at most.
#include "veldt/train/fit_files.h"

#include <filesystem>

#include "veldt/train/warn.h"

namespace veldt::train {
namespace {

constexpr double kWrittenEvery = 1;  // seconds

}  // namespace

FitFiles::FitFiles(nn::Module& model, Averages& average, const BestOptions& options, const Events& events)
    : events_(events), best_weights_(model, average, options, events) {
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

void FitFiles::add(const std::vector<std::string>& columns, const std::vector<double>& values) {
  if (metrics_) metrics_->add(columns, values);
  if (is_time()) write();
}

void FitFiles::write() {
  best_weights_.write();
  if (metrics_) written_or_warned(events_, [this] { metrics_->write(); });
  written_at_ = Clock::now();
}

}  // namespace veldt::train
