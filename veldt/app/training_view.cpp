#include "veldt/app/training_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace veldt::app {

std::string sparkline(const std::vector<double>& values, std::size_t width, bool utf8) {
  if (values.empty() || width == 0) return {};
  const std::size_t cells = std::min(width, values.size());
  std::vector<double> means;
  for (std::size_t i = 0; i < cells; ++i) {
    const std::size_t begin = i * values.size() / cells, end = (i + 1) * values.size() / cells;
    double sum = 0;
    for (std::size_t k = begin; k < end; ++k) sum += values[k];
    means.push_back(sum / static_cast<double>(end - begin));
  }
  const auto [low, high] = std::minmax_element(means.begin(), means.end());
  constexpr std::array<const char*, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 8> kLetters{"_", ".", ",", "-", "~", "=", "*", "#"};
  std::string line;
  for (const double mean : means) {
    const double share = *high > *low ? (mean - *low) / (*high - *low) : 0;
    const auto level = std::isfinite(share) ? static_cast<std::size_t>(share * 7.999) : kBlocks.size() - 1;
    line += utf8 ? kBlocks[level] : kLetters[level];
  }
  return line;
}

TrainingView::TrainingView(bool quiet, double steps_per_epoch)
    : line_({.quiet = quiet}), steps_per_epoch_(steps_per_epoch) {}

void TrainingView::update(const train::Progress& p) {
  if (std::isfinite(p.loss)) losses_.push_back(p.loss);
  // A long run keeps every other one.
  if (losses_.size() > 4096) {
    for (std::size_t i = 0; 2 * i < losses_.size(); ++i) losses_[i] = losses_[2 * i];
    losses_.resize(losses_.size() / 2);
  }
  std::string text =
      p.total_steps > 0 ? fmt::format("step {}/{}", p.step, p.total_steps) : fmt::format("step {}", p.step);
  if (steps_per_epoch_ > 0)
    text += fmt::format("  epoch {:.2f}", static_cast<double>(p.step) / steps_per_epoch_);
  text += fmt::format("  loss {:.4f}", p.loss);
  if (const Terminal terminal = stderr_terminal(); terminal.live)
    text += " " + sparkline(losses_, 12, terminal.utf8);
  text += fmt::format("  {:.3g} it/s", p.steps_per_second);
  if (p.seconds_left >= 0) text += fmt::format("  ETA {}", clock_time(p.seconds_left));
  const double whole = p.seconds + p.seconds_left;
  line_.update(p.total_steps > 0 ? static_cast<double>(p.step) / static_cast<double>(p.total_steps)
               : p.seconds_left >= 0 && whole > 0 ? p.seconds / whole
                                                  : -1,
               text);
}

void TrainingView::update(const train::Evaluation& e) {
  std::string text = fmt::format("step {}  epoch {:.2f}  train loss {:.4f}", e.step, e.epoch, e.train_loss);
  for (const auto& [name, value] : e.scores) text += fmt::format("  val {} {:.4f}", name, value);
  text += fmt::format("  rate {:.2g}  {}", e.learning_rate, clock_time(e.seconds));
  if (e.waiting >= 0.05) text += fmt::format("  {:.0f} % waiting for data", 100 * e.waiting);
  if (e.best) text += "  best";
  line_.print(text);
}

}  // namespace veldt::app
