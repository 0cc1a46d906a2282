// Draws the live line: a bar, a rate, the time that is left, and a panel above it.
#include "veldt/app/progress_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace veldt::app {
namespace {

constexpr double kLiveEvery = 0.05;  // seconds: faster is flicker
constexpr int kBarWidth = 20;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double fraction_of(const train::Progress& progress) {
  if (progress.total_steps > 0)
    return static_cast<double>(progress.step) / static_cast<double>(progress.total_steps);
  if (progress.seconds_left < 0 || progress.seconds + progress.seconds_left <= 0) return -1;
  return progress.seconds / (progress.seconds + progress.seconds_left);
}

// Blocks of an eighth where the terminal can show them.
std::string bar(double fraction, bool utf8) {
  const double cells = std::clamp(fraction, 0.0, 1.0) * kBarWidth;
  const int whole = static_cast<int>(cells);
  std::string out = utf8 ? "" : "[";
  for (int i = 0; i < whole; ++i) out += utf8 ? "█" : "=";
  int drawn = whole;
  if (drawn < kBarWidth) {
    constexpr const char* kEighths[] = {"░", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int eighth = static_cast<int>((cells - whole) * 8);
    out += utf8 ? (eighth == 0 ? "░" : kEighths[eighth]) : (whole > 0 || cells > 0 ? ">" : " ");
    ++drawn;
  }
  for (; drawn < kBarWidth; ++drawn) out += utf8 ? "░" : " ";
  return utf8 ? out : out + "]";
}

// A value in dB is shown without its name.
std::string text_of_measure(const train::Measure& m) {
  if (std::isinf(m.value) && m.value > 0) return "exact";
  return m.unit.empty() ? fmt::format("{} {:.4g}", m.name, m.value)
                        : fmt::format("{:.2f} {}", m.value, m.unit);
}

}  // namespace

std::string clock_time(double seconds) {
  if (!(seconds >= 0) || seconds > 1e7) return "?";
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string describe(const train::Progress& progress) {
  std::string text = fmt::format("step {}", progress.step);
  if (progress.total_steps > 0) text += fmt::format("/{}", progress.total_steps);
  text += fmt::format("  loss {:.3g}  ", progress.loss);
  if (progress.measure) text += text_of_measure(*progress.measure) + "  ";
  const double rate = progress.steps_per_second;
  text += rate >= 100 ? fmt::format("{:.0f} it/s", rate) : fmt::format("{:.2g} it/s", rate);
  if (progress.seconds_left >= 0) text += fmt::format("  ETA {}", clock_time(progress.seconds_left));
  return text;
}

std::string describe_rows(std::int64_t done, std::int64_t total, double seconds_left, const char* row) {
  std::string text = fmt::format("{} {}/{}", row, done, total);
  if (seconds_left >= 0) text += fmt::format("  ETA {}", clock_time(seconds_left));
  return text;
}

ProgressLine::ProgressLine(Options options) : options_(std::move(options)), live_(options_.terminal().live) {
  if (!options_.clock) options_.clock = steady_seconds;
  started_ = options_.clock();
}

ProgressLine::~ProgressLine() {
  if (on_screen_) options_.sink("\n");
}

void ProgressLine::update(const train::Progress& progress) {
  update(fraction_of(progress), describe(progress));
}

void ProgressLine::update_rows(std::int64_t done, std::int64_t total, const char* row) {
  const double passed = options_.clock() - started_;
  const double left = done > 0 ? passed * static_cast<double>(total - done) / static_cast<double>(done) : -1;
  update(total > 0 ? static_cast<double>(done) / static_cast<double>(total) : -1,
         describe_rows(done, total, left, row));
}

void ProgressLine::update(double fraction, const std::string& text) {
  if (options_.quiet || finished_) return;
  fraction_ = fraction;
  text_ = text;
  pending_ = true;
  const double now = options_.clock();
  if (now - started_ < options_.show_after) return;
  const double every = live_ ? kLiveEvery : options_.plain_every;
  if (drawn_at_ < 0 || now - drawn_at_ >= every) draw(now);
}

void ProgressLine::draw(double now) {
  drawn_at_ = std::max(now, 0.0);
  pending_ = false;
  if (!live_) {
    options_.sink(fraction_ >= 0 ? fmt::format("{:3.0f}%  {}\n", 100 * fraction_, text_) : text_ + "\n");
    return;
  }
  draw_block();
}

// To where the panel begins, or the live line without one.
std::string ProgressLine::to_block_begin() const {
  return rows_above_ > 0 ? fmt::format("\r\x1b[{}A", rows_above_) : "\r";
}

void ProgressLine::set_panel(std::vector<std::string> lines, std::string over) {
  panel_is_new_ = panel_is_new_ || lines != panel_ || over != over_panel_;
  panel_ = std::move(lines);
  over_panel_ = std::move(over);
}

// ESC 7 and 8 keep and restore the place of the cursor.
std::string ProgressLine::panel_in_rows(std::size_t rows) const {
  std::string text;
  for (std::size_t i = 0; i < rows; ++i) text += panel_[i] + "\x1b[K\n";
  if (rows > 0 && !over_panel_.empty()) text += fmt::format("\x1b\x37\x1b[{}A{}\x1b\x38", rows, over_panel_);
  return text;
}

void ProgressLine::draw_block() {
  const Terminal terminal = options_.terminal();
  // After a stop, or in a window of another size, the rows above are no longer those that were drawn.
  if (continued_ != times_continued() || terminal.width != width_ || terminal.height != height_) {
    if (rows_above_ > 0) options_.sink("\r\x1b[J");
    rows_above_ = 0;
    panel_is_new_ = true;
  }
  continued_ = times_continued();
  width_ = terminal.width;
  height_ = terminal.height;
  std::string block = "\r";
  const std::size_t rows = static_cast<int>(panel_.size()) + 2 < terminal.height ? panel_.size() : 0;
  if (panel_is_new_ || rows != rows_above_) {
    if (on_screen_) block = to_block_begin();
    if (rows < rows_above_) block += "\x1b[J";
    block += panel_in_rows(rows);
    panel_is_new_ = false;
  }
  rows_above_ = rows;
  options_.sink(block + live_line(terminal) + "\x1b[K");
  on_screen_ = true;
}

// Text and numbers come first: on a narrow terminal the bar is left out.
std::string ProgressLine::live_line(const Terminal& terminal) const {
  const auto room = static_cast<std::size_t>(std::max(terminal.width - 1, 10));
  std::string line = fraction_ >= 0 ? fmt::format("{:3.0f}%  {}", 100 * fraction_, text_) : text_;
  if (line.size() > room) return line.substr(0, room);
  if (fraction_ < 0 || line.size() + kBarWidth + 3 > room) return line;
  return bar(fraction_, terminal.utf8) + " " + line;
}

void ProgressLine::line_above(std::string_view text) {
  if (continued_ != times_continued()) rows_above_ = 0;  // they are no longer where they were
  options_.sink(fmt::format("{}{}\n",
                            !on_screen_       ? ""
                            : rows_above_ > 0 ? to_block_begin() + "\x1b[J"
                                              : "\r\x1b[K",
                            text));
  rows_above_ = 0;
  panel_is_new_ = true;
  if (on_screen_) draw_block();
}

void ProgressLine::note(std::string_view text) {
  if (!options_.quiet) line_above(fmt::format("veldt: note: {}", on_one_line(text)));
}

void ProgressLine::warn(std::string_view text) {
  line_above(fmt::format("veldt: warning: {}", on_one_line(text)));
}

void ProgressLine::print(std::string_view text) {
  if (!options_.quiet) line_above(text);
}

void ProgressLine::finish() {
  if (finished_) return;
  finished_ = true;
  if (pending_ && (drawn_at_ >= 0 || options_.clock() - started_ >= options_.show_after))
    draw(options_.clock());
  if (on_screen_) options_.sink("\n");
  on_screen_ = false;
}

}  // namespace veldt::app
