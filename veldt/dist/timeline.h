// When a rank computed, when its messages were under way, and when it waited for them: to see how much of a
// sum is hidden by work that goes on meanwhile.
// Tests: tests/dist/timeline_test.cpp
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace veldt::dist {

class Timeline {
 public:
  // What the training does, its waiting within that, and the communicator's work.
  enum class Lane : std::uint8_t { steps, waiting, messages };
  struct Span {
    Lane lane = Lane::steps;
    std::string name;
    double begin = 0, end = 0;  // seconds since the timeline was made, or restarted
    std::uint64_t bytes = 0;
  };
  static constexpr std::size_t kMost = 1'000'000;  // spans; later ones are counted in the sums alone

  Timeline() { restart(); }
  // Time 0 is now. Called by all ranks after a barrier, so that their times can be compared.
  void restart();
  double now() const;
  void add(Lane lane, std::string name, double begin, double end, std::uint64_t bytes = 0);
  // A step begins here, and the one before ends.
  void begin_step();

  // The time from here to its end is spent waiting; does nothing without a timeline.
  class Waiting {
   public:
    Waiting(Timeline* timeline, const char* name)
        : timeline_(timeline), name_(name), begin_(timeline != nullptr ? timeline->now() : 0) {}
    ~Waiting() {
      if (timeline_ != nullptr) timeline_->add(Lane::waiting, name_, begin_, timeline_->now());
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Timeline* timeline_;
    const char* name_;
    double begin_;
  };

  struct Summary {
    std::int64_t steps = 0;
    double seconds = 0;   // of all steps
    double messages = 0;  // seconds of sums
    double waiting = 0;   // seconds of waiting for them
    std::uint64_t bytes = 0;
    // The share of the sums' time in which the rank computed; 0 if it waited longer, for slower ranks.
    double hidden() const { return waiting < messages ? 1 - waiting / messages : 0; }
  };
  Summary summary() const;
  std::vector<Span> spans() const;

 private:
  using Clock = std::chrono::steady_clock;
  mutable std::mutex mutex_;
  Clock::time_point start_;
  double step_began_ = -1;
  std::vector<Span> spans_;
  Summary summary_;
};

// Events of Chrome's trace viewer and Perfetto (Trace Event Format, "X" events), of one process each; to be
// joined by commas within [ and ].
std::string trace_events(const std::vector<Timeline::Span>& spans, int rank, const std::string& name);

}  // namespace veldt::dist
