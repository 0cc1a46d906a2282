// Checkpoints that survive kill -9, full disks and flipped bits. DIR/ckpt-00000871/ holds model.safetensors,
// optim.safetensors, state.json and MANIFEST.json, which has the size and XXH3 of the other three. It is
// written under a temporary name, each file made durable, the manifest last, then renamed. So a checkpoint
// with its final name is complete.
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
// no directory; corrupt, naming the file and if possible the tensor, if anything has changed since it was
// written or if a newer Veldt wrote it.
CheckpointInfo verify_checkpoint(const std::string& path);

// Verifies one checkpoint, then loads it. Throws as verify_checkpoint does.
CheckpointData read_checkpoint(const std::string& path);

// The step in a directory's name ("ckpt-00000871"); nullopt unless CheckpointDir gives exactly this name: not
// a temporary one, and not "ckpt-notes".
std::optional<std::int64_t> step_of_checkpoint(const std::string& name);

// A directory of checkpoints that only this process writes to.
class CheckpointDir {
 public:
  // Creates the directory if needed, locks it, and removes half-written checkpoints of a killed process, or
  // completes the rename if that was all that was missing. Throws ConfigError if another process holds the
  // lock or keep < 1, IoError unwritable if it cannot be made.
  explicit CheckpointDir(std::string path, int keep = 3);
  ~CheckpointDir();
  CheckpointDir(const CheckpointDir&) = delete;
  CheckpointDir& operator=(const CheckpointDir&) = delete;

  // The steps that have a checkpoint, oldest first. A new run should find none: otherwise load_newest() would
  // prefer a later step of the earlier run.
  std::vector<std::int64_t> steps() const;

  // Writes a checkpoint, and when it is durable removes those that are older than the `keep` newest. On a
  // full disk those that load_newest() found damaged are removed first, then all except the newest complete
  // one, and from then on only one is kept. If the disk has no space for a second one, or it cannot be
  // written for another reason, throws IoError unwritable, and leaves the newest complete one and nothing
  // half-written. A directory that was moved away is created and locked again; also throws IoError unwritable
  // if another run has taken its place, that is, holds its lock or has left checkpoints there. Each of these
  // events adds a warning.
  void save(const CheckpointData& data, std::vector<std::string>* warnings = nullptr);

  // The newest that verifies; nullopt if there are no checkpoints. Each one passed over adds a warning.
  // Throws IoError corrupt if there are some but none verifies, or if a newer Veldt wrote the newest.
  std::optional<CheckpointData> load_newest(std::vector<std::string>* warnings = nullptr);

  const std::string& path() const { return path_; }
  std::string path_of(std::int64_t step) const;

 private:
  void lock();
  bool is_locked() const;
  // Says what is done about a directory that was moved away.
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
