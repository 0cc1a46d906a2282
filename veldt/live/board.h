// The record of a run while it is made: the run adds to it, pages read it, each in a thread of its own.
//   live::Board board;
//   events.on_progress = [&](const train::Progress& p) { board.add(p); };
//   trainer.fit(.., events, [&](const train::Evaluation& e) { board.add(e); });
// Adding never waits for a reader: it takes about a microsecond, and memory has a bound.
// Tests: tests/live/board_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "veldt/live/record.h"
#include "veldt/train/events.h"
#include "veldt/train/trainer.h"

namespace veldt::live {

// What a reader has seen of a board. A new one has seen nothing.
struct Seen {
  std::uint64_t version = 0, generation = 0;
  std::vector<std::pair<std::int64_t, std::size_t>> series = {};  // merged, and points
  std::uint64_t pictures = 0, texts = 0, notes = 0, facts = 0, outcome = 0;
};

class Board {
 public:
  Board() = default;
  // Shows a record that is complete, or goes on with it.
  explicit Board(Record record);

  void add(const train::Progress& progress);
  void add(const train::Evaluation& evaluation);
  void add_value(const std::string& name, std::int64_t step, double seconds, double value,
                 const std::string& unit = "", const std::string& group = "");
  // When there are too many, every second of those between the first and the last is left out.
  void add_picture(Snapshot picture);
  void add_text(Text text);
  void add_note(Note note);
  void set_fact(const std::string& group, const std::string& name, const std::string& value);
  void set_state(const std::string& state);
  // The most memory that the run's process has had.
  void set_memory(std::int64_t bytes);
  // For what has no function of its own: layers, confusion, titles. Not for series and pictures.
  void change(const std::function<void(Record&)>& change);

  // Leaves out what is later: see Record::cut_after().
  void cut_after(std::int64_t step);
  // Another state of the same run, as its folder has it; or another run, of which readers are told all.
  void replace(Record record);

  Record record() const;
  // Grows with every change.
  std::uint64_t version() const { return version_; }
  // What has changed since, as one JSON object, or "" if nothing has; and it has been seen then. A page
  // begins with everything. `pictures_inside`: their bytes too, else their numbers, for png().
  std::string news(Seen& seen, bool pictures_inside = false) const;
  // The picture of that number; empty if it is gone.
  SharedBytes png(std::uint64_t number) const;

 private:
  void add_to(const std::string& name, std::int64_t step, double seconds, double value,
              const std::string& unit, const std::string& group);
  void changed(std::uint64_t& part) { part = ++version_; }

  mutable std::mutex mutex_;
  Record record_;
  std::map<std::string, std::size_t> places_;  // of the series
  std::vector<std::uint64_t> numbers_;         // of the pictures
  std::uint64_t next_number_ = 1, generation_ = 1;
  // The versions at which each part changed last.
  std::uint64_t pictures_ = 1, texts_ = 1, notes_ = 1, facts_ = 1, outcome_ = 1;
  std::atomic<std::uint64_t> version_ = 1;
};

// What viewers ask of a run. The run looks after each step.
class Control {
 public:
  void pause() { paused_ = true; }
  void go_on() { paused_ = false; }
  void stop() { stop_ = true; }
  void save() { save_ = true; }

  bool is_paused() const { return paused_; }
  bool should_stop() const { return stop_; }
  bool wants_save() const { return save_; }
  // Once for each request.
  bool take_save() { return save_.load(std::memory_order_relaxed) && save_.exchange(false); }

 private:
  std::atomic<bool> paused_ = false, stop_ = false, save_ = false;
};

}  // namespace veldt::live
