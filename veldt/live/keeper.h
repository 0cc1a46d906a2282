// Keeps a board's record in a folder while the run goes on, by a thread of its own, so that `veldt watch` can
// show runs of other programs and machines.
// Tests: tests/live/keeper_test.cpp
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "veldt/live/board.h"

namespace veldt::live {

class Keeper {
 public:
  // Writes record.json into the folder every `every` seconds in which something has changed.
  Keeper(std::shared_ptr<const Board> board, std::string directory, double every = 3);
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Writes what has not been written. A record that cannot be written stops no run.
  void write();
  // Why one could not be written, in a line, the first time; else empty. It is tried again.
  std::string take_failure();

 private:
  void work(double every);
  void fail(const std::string& why);

  std::shared_ptr<const Board> board_;
  std::string directory_;
  std::mutex writing_, mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::uint64_t written_ = 0;
  std::string failure_;
  bool has_failed_ = false;
  std::thread thread_;
};

}  // namespace veldt::live
