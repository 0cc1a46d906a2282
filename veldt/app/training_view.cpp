// Draws the curves of a training run in dots of Braille, and prints a line for each evaluation.
#include "veldt/app/training_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace veldt::app {

namespace {

constexpr int kCurveWidth = 36, kCurveHeight = 6;  // characters

// A number in about six characters, right-aligned in eight.
std::string label(double value) { return fmt::format("{:>8.3g} ", value); }

}  // namespace

std::vector<std::string> curve_of_dots(const std::string& name, const std::vector<double>& values, int width,
                                       int height) {
  std::vector<double> columns;
  const std::size_t dots = 2 * static_cast<std::size_t>(width), count = std::min(dots, values.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i * values.size() / count, end = (i + 1) * values.size() / count;
    double sum = 0;
    for (std::size_t k = begin; k < end; ++k) sum += values[k];
    columns.push_back(sum / static_cast<double>(end - begin));
  }
  const auto [low, high] = std::minmax_element(columns.begin(), columns.end());
  const int rows = 4 * height;
  // Dot (x, y) of a character is this bit of U+2800.
  constexpr int kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  std::vector<std::vector<int>> cells(static_cast<std::size_t>(height),
                                      std::vector<int>(static_cast<std::size_t>(width), 0));
  std::optional<std::size_t> before;  // the row of the column before
  for (std::size_t x = 0; !columns.empty() && x < dots; ++x) {
    const double place = static_cast<double>(x * (columns.size() - 1)) / static_cast<double>(dots - 1);
    const auto left = static_cast<std::size_t>(place), right = std::min(left + 1, columns.size() - 1);
    const double value = std::lerp(columns[left], columns[right], place - static_cast<double>(left));
    const double share = *high > *low ? (value - *low) / (*high - *low) : 0;
    if (!std::isfinite(share)) continue;
    const auto at = static_cast<std::size_t>((1 - share) * (rows - 1) + 0.5);
    // A line without gaps: up or down from the last column's row.
    std::size_t from = at;
    if (before && *before != at) from = *before < at ? *before + 1 : *before - 1;
    for (std::size_t y = std::min(from, at); y <= std::max(from, at); ++y)
      cells[y / 4][x / 2] |= kBits[y % 4][x % 2];
    before = at;
  }
  std::vector<std::string> lines{
      values.empty() ? name : fmt::format("{:>8} {:.4g}", name.substr(0, 24), values.back())};
  for (int row = 0; row < height; ++row) {
    std::string line = columns.empty()     ? std::string(9, ' ')
                       : row == 0          ? label(*high)
                       : row == height - 1 ? label(*low)
                                           : std::string(9, ' ');
    for (const int cell : cells[static_cast<std::size_t>(row)]) {
      const int code = 0x2800 + cell;
      line += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | ((code >> 6) & 0x3f)),
               static_cast<char>(0x80 | (code & 0x3f))};
    }
    lines.push_back(line);
  }
  return lines;
}

TrainingView::TrainingView(bool quiet, double steps_per_epoch)
    : line_({.quiet = quiet}), steps_per_epoch_(steps_per_epoch) {}

void TrainingView::update(const train::Progress& p) {
  // In a long run only every second, fourth .. loss is kept, old and new.
  if (std::isfinite(p.loss) && heard_++ % every_ == 0) losses_.push_back(p.loss);
  if (losses_.size() > 4096) {
    for (std::size_t i = 0; 2 * i < losses_.size(); ++i) losses_[i] = losses_[2 * i];
    losses_.resize(losses_.size() / 2);
    every_ *= 2;
  }
  std::string text =
      p.total_steps > 0 ? fmt::format("step {}/{}", p.step, p.total_steps) : fmt::format("step {}", p.step);
  if (steps_per_epoch_ > 0)
    text += fmt::format("  epoch {:.2f}", static_cast<double>(p.step) / steps_per_epoch_);
  text += fmt::format("  loss {:.4f}", p.loss);
  text += fmt::format("  {:.3g} it/s", p.steps_per_second);
  if (p.seconds_left >= 0) text += fmt::format("  ETA {}", clock_time(p.seconds_left));
  draw_panel();
  const double whole = p.seconds + p.seconds_left;
  line_.update(p.total_steps > 0 ? static_cast<double>(p.step) / static_cast<double>(p.total_steps)
               : p.seconds_left >= 0 && whole > 0 ? p.seconds / whole
                                                  : -1,
               text);
}

// Both curves side by side if there is space, else only the training curve.
void TrainingView::draw_panel() {
  const Terminal terminal = stderr_terminal();
  const int one = kCurveWidth + 9;
  if (!line_.is_live() || !terminal.utf8 || terminal.width <= one) {
    line_.set_panel({});
    return;
  }
  std::vector<std::string> lines = curve_of_dots("loss", losses_, kCurveWidth, kCurveHeight);
  if (watched_.size() > 1 && terminal.width > 2 * one + 2) {
    const auto beside = curve_of_dots(watched_name_, watched_, kCurveWidth, kCurveHeight);
    lines[0].resize(static_cast<std::size_t>(one), ' ');
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i] += "  " + beside[i];
  }
  line_.set_panel(std::move(lines));
}

void TrainingView::update(const train::Evaluation& e) {
  if (!e.scores.empty()) {
    watched_name_ = "val " + e.scores[0].first;
    watched_.push_back(e.scores[0].second);
  }
  std::string text = fmt::format("step {}  epoch {:.2f}  train loss {:.4f}", e.step, e.epoch, e.train_loss);
  for (const auto& [name, value] : e.scores) text += fmt::format("  val {} {:.4f}", name, value);
  text += fmt::format("  rate {:.2g}  {}", e.learning_rate, clock_time(e.seconds));
  if (e.waiting >= 0.05) text += fmt::format("  {:.0f} % waiting for data", 100 * e.waiting);
  if (e.best) text += "  best";
  line_.print(text);
}

}  // namespace veldt::app
