// Progress of a long job: one live line on a terminal, a plain line now and then elsewhere. Goes to stderr.
// Tests: tests/app/pieces_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veldt/app/frame.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/train/events.h"

namespace veldt::app {

// "step 1200/5000  loss 0.00123  34.56 dB  812 it/s  ETA 0:04"
std::string describe(const train::Progress& progress);
// "row 512/1024  ETA 0:04"; seconds_left below 0 is unknown.
std::string describe_rows(std::int64_t done, std::int64_t total, double seconds_left,
                          const char* row = "row");
// 7 -> "0:07", 3725 -> "1:02:05"; below 0 or too large "?".
std::string clock_time(double seconds);

class ProgressLine {
 public:
  struct Options {
    bool quiet = false;
    double show_after = 0;   // seconds; a job that finishes earlier shows nothing
    double plain_every = 5;  // seconds between plain lines
    // For tests: where the text goes, what the terminal is, and the seconds that have passed.
    std::function<void(std::string_view)> sink = write_stderr;
    std::function<Terminal()> terminal = stderr_terminal;
    std::function<double()> clock = {};
  };

  explicit ProgressLine(Options options);
  // Ends the live line, so that what follows starts on a new one.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // May be called at any rate; drawn at most twenty times a second.
  void update(const train::Progress& progress);
  // Rows (or frames) drawn so far, from which the time left is estimated.
  void update_rows(std::int64_t done, std::int64_t total, const char* row = "row");
  // `fraction` 0..1, below 0 when unknown.
  void update(double fraction, const std::string& text);

  // Lines above the live one on a terminal, drawn with it when they have changed: curves, a picture. They
  // must fit its width; elsewhere they are not shown. `over` is written last, with the cursor where the lines
  // begin, and may leave it anywhere: what a terminal draws over these lines.
  void set_panel(std::vector<std::string> lines, std::string over = {});
  bool is_live() const { return live_; }

  // A line of its own above the live one ("veldt: warning: .."), kept when that is redrawn. Warnings are
  // shown even when quiet.
  void note(std::string_view text);
  void warn(std::string_view text);
  // The same for a line of measures, as it is.
  void print(std::string_view text);
  // Shows the last update if it is not shown yet, and ends the line. Nothing is drawn after that.
  void finish();

 private:
  void draw(double now);
  void line_above(std::string_view text);
  void draw_block();
  std::string to_block_begin() const;
  std::string panel_in_rows(std::size_t rows) const;
  std::string live_line(const Terminal& terminal) const;

  Options options_;
  bool live_;
  double started_;
  double drawn_at_ = -1;  // below 0: nothing yet
  bool pending_ = false;  // an update has not been drawn
  bool on_screen_ = false;
  bool finished_ = false;
  double fraction_ = -1;
  std::string text_;
  std::vector<std::string> panel_;
  std::string over_panel_;
  bool panel_is_new_ = false;
  std::size_t rows_above_ = 0;         // of the panel, as they are on the screen
  int width_ = 0, height_ = 0;         // of the terminal when it was drawn
  int continued_ = times_continued();  // then
};

}  // namespace veldt::app
