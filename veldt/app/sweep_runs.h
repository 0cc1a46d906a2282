// The runs of a sweep as processes side by side: as many as were asked for and memory allows.
// Tests: tests/app/sweep_test.cpp
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "veldt/app/child.h"
#include "veldt/app/sweep_folder.h"
#include "veldt/recipe/sweep.h"

namespace veldt::app {

struct SweepRunOptions {
  std::string data, device, fallback, config;  // --fallback and --config: or empty
  std::int64_t jobs = 1, threads = 1;
  double every = 30;  // seconds between checkpoints
};

// A trial that has ended, or was over before.
struct EndedTrial {
  recipe::Trial trial;
  recipe::Outcome outcome;
  int exit_code = 0;
  bool is_old = false;  // an earlier process had done it
};

// Whether another run fits into memory: `free` bytes of it, each run needs `need`, and those at work have
// taken `taken` of that so far.
bool memory_fits(std::int64_t free, std::int64_t need, const std::vector<std::int64_t>& taken);

class SweepRuns {
 public:
  // Keeps references.
  SweepRuns(recipe::Sweep& sweep, const SweepFolder& folder, SweepRunOptions options)
      : sweep_(sweep), folder_(folder), options_(std::move(options)) {}

  // Starts what can begin, tells the sweep of what has ended, and returns those trials. One whose process a
  // signal has killed is resumed, twice. Throws IoError and UsageError where no run can begin.
  std::vector<EndedTrial> step();
  // Asks all to save and stop. From then on none begins, and one that ends has not come to its end.
  void ask_to_stop();
  std::size_t running() const { return running_.size(); }
  // Trainings, whole ones, that those at work have done, about; and what earlier processes had done of all
  // that were begun here.
  double work_at_hand();
  double work_inherited() const { return inherited_; }
  // Whether memory holds back runs that could begin.
  bool lacks_memory() const { return lacks_memory_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    recipe::Trial trial;
    recipe::Recipe recipe;
    Child child;
    Clock::time_point since;
    int kills = 0;  // how often a signal has ended its process
    // Of the training: when the process began, and when metrics.csv last had more.
    double share_before = 0, share = 0;
    Clock::time_point more_at = since;
    std::int64_t peak = 0;
  };

  struct Waiting {
    recipe::Trial trial;
    recipe::Recipe recipe;
    int kills = 0;
  };

  void start(std::vector<EndedTrial>& ended);
  bool memory_allows();
  std::vector<std::string> command_of(const recipe::Trial& trial) const;
  Running begun(Waiting waiting);
  std::optional<EndedTrial> judged(Running& run, const ChildEnd& end);
  recipe::Outcome failure_of(const Running& run, const ChildEnd& end) const;

  recipe::Sweep& sweep_;
  const SweepFolder& folder_;
  SweepRunOptions options_;
  std::vector<Running> running_;
  std::vector<Waiting> waiting_;  // to be resumed
  std::int64_t peak_ = 0;         // of any run, in bytes
  bool has_measured_ = false;     // one has ended
  bool stops_ = false, lacks_memory_ = false;
  Clock::time_point looked_at_ = {};
  double inherited_ = 0;
};

}  // namespace veldt::app
