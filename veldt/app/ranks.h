// A verb that mpirun has started several times: who speaks, what all must have alike, and how all end when
// one fails.
// Tests: tests/app/ranks_test.cpp
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>

#include "veldt/app/frame.h"
#include "veldt/cli/context.h"
#include "veldt/dist/communicator.h"
#include "veldt/tensor/backends.h"

namespace veldt::app {

class Ranks {
 public:
  // Joins the others if a launcher has started this process beside more than itself; then all but rank 0 say
  // nothing but errors. Throws DeviceError if this build cannot use that launcher's MPI.
  explicit Ranks(Context& context, bool profiled = false);

  bool alone() const { return communicator_ == nullptr; }
  bool is_first() const { return alone() || communicator_->rank() == 0; }
  dist::Communicator* communicator() const { return communicator_.get(); }
  // " on 4 processes", or nothing.
  std::string in_words() const;

  // Throws UsageError, on every rank, if `facts`, an object, is not the same everywhere: with the first
  // difference.
  void must_agree(const nlohmann::json& facts) const;
  // The same text on every rank: rank 0's.
  std::string as_first(const std::string& text) const;
  // Throws UsageError if there are several: `what` is for one process.
  void must_be_alone(const std::string& what) const;
  void barrier() const;
  // choose_device(name). Of a kind without a number, such as "cuda", each rank of a machine gets the next
  // one, and the first again where there are fewer.
  DeviceChoice choose_device(const std::string& name) const;
  // Once all compute on that device: warns, on rank 0, if what they exchange goes through the host's memory.
  void note_way_between(Device device) const;

  // Called by all after the work: where the time went is printed by rank 0, and written as FOLDER/trace.json,
  // for Chrome's trace viewer. Only if it was profiled.
  void report_timeline(const std::string& folder);

  // The command with a launcher before it.
  std::string launched(const std::string& command) const;
  // What is said when a rank is lost: the command that goes on, and what was saved.
  void resume_with(const std::string& command);
  void saved(const std::string& checkpoint);
  // As long as what it returns lives: tells that half a second after `asked` is first true. A launcher that
  // has lost a process asks the others to end, which they cannot agree on, and kills them a second later.
  [[nodiscard]] std::jthread tell_when(std::function<bool()> asked);

  // Does the work, and gives rank 0's exit code. If it throws, prints the error with the rank's name and ends
  // all ranks with the code of that.
  int run(const std::function<int()>& work);

 private:
  void report_and_end();
  std::string what_is_left();

  Context& context_;
  std::unique_ptr<dist::Timeline> timeline_;
  std::unique_ptr<dist::Communicator> communicator_;
  std::mutex mutex_;
  std::string saved_, resume_;
};

// For the command, before a verb runs: throws UsageError if a launcher has started several processes and the
// verb is for one.
void check_launch(const std::string& verb);

}  // namespace veldt::app
