// What others see of a run of `fit` or `train`: its page (--live), its record and report in its folder.
// Tests: tests/app/live_test.cpp, tests/app/pages_test.py
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veldt/app/frame.h"
#include "veldt/app/live_flags.h"
#include "veldt/app/profiling.h"
#include "veldt/cli/option_tree.h"
#include "veldt/live/board.h"
#include "veldt/live/event_file.h"
#include "veldt/live/keeper.h"
#include "veldt/live/site.h"
#include "veldt/nn/module.h"
#include "veldt/train/events.h"
#include "veldt/train/metric.h"

namespace veldt::app {

void add_live(VerbOptions& verb, LiveFlags& flags);
// The same by another name, whose page is always there.
void add_page_address(VerbOptions& verb, const std::string& name, const std::string& help, LiveFlags& flags);

// Opens the page and says where; warns if others than this machine reach it. `site` must live as long.
std::unique_ptr<live::HttpServer> open_page(const live::Site& site, const LiveFlags& flags);

// Throws UsageError if something is to be looked at that `mode` ("--dry-run") does not do.
void refuse_looks(const char* mode, const LiveFlags& live, const ProfileFlags& profile);

// Says when something that costs time may be done again: not sooner than some seconds after the last time,
// and as long as all of it takes at most a share of the time that has passed, and some seconds at the start.
class Budget {
 public:
  // `clock`, for tests: the seconds that have passed.
  Budget(double share, double at_start, double least_seconds, std::function<double()> clock = {});
  // Does it if it is time.
  void spend(const std::function<void()>& work);
  // A pause is no time that has passed.
  void leave_out(std::chrono::duration<double> pause);

 private:
  double share_, at_start_, least_;
  std::function<double()> clock_;
  std::optional<double> first_, done_;
  double cost_ = 0;
};

class LiveRun {
 public:
  struct Options {
    LiveFlags flags;
    std::string title;
    std::string folder;    // whose record.json and report.html are kept; empty: none
    bool resumes = false;  // what the folder's record has is gone on with
    std::function<void(const std::string&)> say = {};  // a note on the terminal
  };
  // Does nothing at all without a page and folders.
  LiveRun(const Options& options, const Context& context);
  // Of a run that was not finished: it has failed.
  ~LiveRun();
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  bool is_on() const { return board_ != nullptr; }
  live::Board& board() { return *board_; }
  const live::Control& control() const { return control_; }

  // The run's events, which this listens to as well, and which viewers can ask to pause, save and stop.
  train::Events listening(train::Events events, const nn::Module& model);
  void add(const train::Evaluation& evaluation);
  // Draws the picture as it is, levels 0..1 [height, width, channels], now and then; the last one better.
  using Draw = std::function<Tensor(bool is_last)>;
  void draws(Draw picture) { picture_ = std::move(picture); }
  // What a viewer's wish to save does in a run without checkpoints.
  void saves(std::function<void()> save) { save_ = std::move(save); }
  // Writes a sample, now and then after an evaluation, while somebody may watch.
  void writes(std::function<std::string()> sample) { sample_ = std::move(sample); }
  void add_picture(const std::string& name, std::int64_t step, const Tensor& levels);
  void add_text(const std::string& name, std::int64_t step, const std::string& text);
  void set_facts(const std::string& group, const std::vector<std::pair<std::string, std::string>>& facts);
  // What came of it, as facts and for TensorBoard; also after finish().
  void set_scores(const train::Scores& scores);
  // The last picture, the record and the report; in `state`.
  void finish(const std::string& state, std::int64_t step);

 private:
  void tell_tensorboard(const std::function<void(live::EventFile&)>& what);
  void on_progress(const train::Progress& progress, const nn::Module& model);
  void draw(std::int64_t step, bool is_last = false);
  // Looking ends no run: what fails is said, and not looked at again.
  void look(bool& is_off, const std::function<void()>& work);
  void hold(const std::function<bool()>& should_stop);
  bool should_save();
  void note(const std::string& text, bool is_warning = false);
  void write_files();
  std::string facts_as_table() const;

  Options options_;
  std::shared_ptr<live::Board> board_;
  live::Control control_;
  live::Site site_;
  std::unique_ptr<live::Keeper> keeper_;
  std::optional<live::EventFile> events_;
  std::unique_ptr<live::HttpServer> server_;
  Draw picture_;
  std::function<std::string()> sample_;
  std::function<void()> save_;
  std::function<void(const std::string&)> warn_;
  Budget pictures_{0.01, 0.4, 0.4}, norms_{0.004, 0, 1}, histograms_{0.01, 0.2, 5}, samples_{0.01, 0.3, 2};
  double seconds_ = 0;
  std::int64_t step_ = 0, drawn_step_ = -1;
  bool is_finished_ = false, has_no_files_ = false, says_paused_ = false, no_pictures_ = false,
       no_norms_ = false, no_samples_ = false;
};

}  // namespace veldt::app
