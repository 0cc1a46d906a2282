// Checkpoints that survive kill -9, full disks and flipped bits. DIR/ckpt-00000871/ holds model.safetensors,
// optim.safetensors, state.json and MANIFEST.json, which has the size and XXH3 of the other three. It is
// written under a temporary name, each file made durable, the manifest last, then renamed: what has its name
// is whole.
// Tests: tests/train/checkpoint_test.cpp, tests/train/power_failure_test.cpp, tests/app/crash_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "veldt/io/safetensors.h"

namespace veldt::train {

struct CheckpointData {
  std::int64_t step = 0;
  NamedTensors model = {};
  NamedTensors optim = {};
  std::map<std::string, std::string> model_metadata = {};
  std::string state_json = {};
};

struct CheckpointInfo {
  std::string path = {};
  std::int64_t step = 0;
  int version = 0;
  std::map<std::string, std::uint64_t> files = {};  // name to bytes
};

// Reads every byte of one checkpoint and compares it with its manifest. Throws IoError missing if `path` is
// no directory; corrupt, naming the file and if possible the tensor, if anything is not as it was written or
// if a newer Veldt wrote it.
CheckpointInfo verify_checkpoint(const std::string& path);

// Verifies one checkpoint, then loads it. Throws as verify_checkpoint does.
CheckpointData read_checkpoint(const std::string& path);

// The step that the name of a directory says ("ckpt-00000871"); nullopt unless it is exactly one that
// CheckpointDir gives: not a temporary one, and not "ckpt-notes".
std::optional<std::int64_t> step_of_checkpoint(const std::string& name);

// A directory of checkpoints that this process alone writes to.
class CheckpointDir {
 public:
  // Makes the directory if needed, locks it, and removes what a killed process left half-written, or gives it
  // its name if that process was about to. Throws
  // ConfigError if another process holds the lock or keep < 1, IoError unwritable if it cannot be made.
  explicit CheckpointDir(std::string path, int keep = 3);
  ~CheckpointDir();
  CheckpointDir(const CheckpointDir&) = delete;
  CheckpointDir& operator=(const CheckpointDir&) = delete;

  // The steps that have a checkpoint, oldest first. A run that starts afresh should find none: load_newest()
  // would otherwise prefer a later step of the run before.
  std::vector<std::int64_t> steps() const;

  // Writes a checkpoint, and after it is durable removes those that are older than the `keep` newest. On a
  // full disk those that load_newest() found damaged go first, then all but the newest whole one, and from
  // then on one is kept; on one that has room for no other, and wherever else it cannot be written, throws
  // IoError unwritable, and leaves the newest whole one, and nothing half-written. A directory that was moved
  // away since is made and locked again; throws IoError unwritable too if another run has its place by now:
  // holds its lock, or has left checkpoints there. Each of that adds a warning.
  void save(const CheckpointData& data, std::vector<std::string>* warnings = nullptr);

  // The newest that verifies; nullopt if there is none at all. Each one passed over adds a warning. Throws
  // IoError corrupt if there are some and none verifies, or if a newer Veldt wrote the newest.
  std::optional<CheckpointData> load_newest(std::vector<std::string>* warnings = nullptr);

  const std::string& path() const { return path_; }
  std::string path_of(std::int64_t step) const;

 private:
  void lock();
  bool is_locked() const;
  // What became of a directory that was moved away, in words.
  std::string lock_again();
  void sweep_orphans();
  void write(const CheckpointData& data);
  bool make_room(std::int64_t step, std::vector<std::string>* warnings);
  std::size_t remove_all_but_newest(std::int64_t step);
  void forget_damaged_that_are_gone();
  void publish(const std::string& temporary, std::int64_t step);
  void remove_old(std::int64_t newest);
  std::size_t remove(const std::vector<std::int64_t>& steps);

  std::string path_;
  int keep_;
  int lock_fd_ = -1;
  std::vector<std::int64_t> damaged_;  // passed over by load_newest(); they do not count as kept
  std::set<std::int64_t> known_;       // steps that were there at the start, or were saved since
};

}  // namespace veldt::train
