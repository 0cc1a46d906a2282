// Writes a checkpoint beside the others and renames it when it is complete; removes leftovers of killed
// processes.
#include "veldt/train/checkpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/train/manifest.h"

namespace veldt::train {
namespace {

// The parsed name of an entry of the directory: ckpt-<step> or ckpt-<step>.tmp-<pid>.
struct EntryName {
  std::int64_t step = 0;
  std::optional<std::int64_t> pid;
};

// All of `text` as a number without sign.
std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::string name_of(std::int64_t step) {
  char name[40];
  std::snprintf(name, sizeof name, "ckpt-%08lld", static_cast<long long>(step));
  return name;
}

// Nothing unless the name is exactly one that Veldt gives: other entries are never touched.
std::optional<EntryName> parse_name(const std::string& name) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  constexpr std::string_view kPrefix = "ckpt-", kTemporary = ".tmp-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto step = number_in(std::string_view(name).substr(kPrefix.size(), dot - kPrefix.size()));
  if (!step || name.substr(0, dot) != name_of(*step)) return std::nullopt;
  if (dot == name.size()) return EntryName{*step, std::nullopt};
  if (!std::string_view(name).substr(dot).starts_with(kTemporary)) return std::nullopt;
  const auto pid = number_in(std::string_view(name).substr(dot + kTemporary.size()));
  return pid ? std::optional(EntryName{*step, pid}) : std::nullopt;
}

bool is_our_file(const std::string& name) {
  const auto is_file_or_its_temporary = [&](std::string_view file) {
    return name == file || name.starts_with(str(file, ".tmp-"));
  };
  return is_file_or_its_temporary(kManifestFile) ||
         std::any_of(std::begin(kCheckpointFiles), std::end(kCheckpointFiles), is_file_or_its_temporary);
}

// Also false if it cannot be examined.
bool holds_our_files_alone(const std::string& path) noexcept {
  try {
    const std::vector<std::string> names = io::list_directory(path);
    return std::all_of(names.begin(), names.end(), is_our_file);
  } catch (const std::exception&) {
    return false;
  }
}

// Removes a directory that holds only our files; one with other files stays unchanged. The manifest is
// removed first, so that a directory with a manifest is complete.
void remove_checkpoint(const std::string& path) noexcept {
  if (!holds_our_files_alone(path)) return;
  try {
    io::remove_file(path + "/" + kManifestFile);
    for (const std::string& name : io::list_directory(path)) io::remove_file(path + "/" + name);
    ::rmdir(path.c_str());
  } catch (const std::exception&) {  // a lack of memory too
    // It does no harm; the next start tries again.
  }
}

}  // namespace

std::optional<std::int64_t> step_of_checkpoint(const std::string& name) {
  const auto entry = parse_name(name);
  return entry && !entry->pid ? std::optional(entry->step) : std::nullopt;
}

CheckpointDir::CheckpointDir(std::string path, int keep) : path_(std::move(path)), keep_(keep) {
  if (keep_ < 1)
    throw ConfigError(str("cannot keep ", keep_, " checkpoints"),
                      "without one there is nothing to resume from", "keep 1 or more");
  io::make_directories(path_);
  lock();
  sweep_orphans();
  const std::vector<std::int64_t> found = steps();
  known_.insert(found.begin(), found.end());
}

CheckpointDir::~CheckpointDir() {
  if (lock_fd_ >= 0) ::close(lock_fd_);  // releases the lock
}

void CheckpointDir::lock() {
  const std::string file = path_ + "/.lock";
  lock_fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_fd_ < 0) io::throw_unwritable(file, "open", errno);
  if (::flock(lock_fd_, LOCK_EX | LOCK_NB) == 0) {
    const std::string pid = str(::getpid(), "\n");
    if (::ftruncate(lock_fd_, 0) == 0) (void)!::write(lock_fd_, pid.data(), pid.size());  // only for messages
    return;
  }
  const int error = errno;
  char pid[16] = {};
  (void)!::read(lock_fd_, pid, sizeof pid - 1);
  ::close(lock_fd_);
  lock_fd_ = -1;
  if (error != EWOULDBLOCK) io::throw_unwritable(file, "lock", error);
  const auto holder = number_in(std::string_view(pid).substr(0, std::string_view(pid).find('\n')));
  throw ConfigError(str("the checkpoint directory ", path_, " is in use"),
                    holder ? str("process ", *holder, " holds its lock") : "another process holds its lock",
                    "wait for it to end, or choose another directory");
}

// False if the directory was moved or removed, so that another process could have it.
bool CheckpointDir::is_locked() const {
  struct stat held {
  }, there{};
  return lock_fd_ >= 0 && ::fstat(lock_fd_, &held) == 0 && ::stat((path_ + "/.lock").c_str(), &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

std::string CheckpointDir::lock_again() {
  const auto taken = [this](const std::string& why) {
    return IoError(IoError::Kind::unwritable,
                   str(path_, " was moved away or removed, and another run has its place"), why,
                   "move that run elsewhere, or name another directory");
  };
  if (lock_fd_ >= 0) ::close(std::exchange(lock_fd_, -1));
  const bool is_there = io::is_directory(path_);
  io::make_directories(path_);
  try {
    lock();
  } catch (const ConfigError& error) {
    throw taken(error.why());
  }
  try {
    for (const std::int64_t step : steps())
      if (!known_.contains(step))
        throw taken(str("it holds a checkpoint of step ", step, " that this run did not save"));
  } catch (...) {
    ::close(std::exchange(lock_fd_, -1));  // so that the next save looks again
    throw;
  }
  return str(path_, " was moved away or removed while the run had it: ",
             is_there ? "the directory that now has its name is used" : "it is created again");
}

// If directories cannot be exchanged, publish() keeps the older of two checkpoints of one step as ".tmp-0"
// for a moment, and a kill at that time leaves it there. The lock is held, so entries with a temporary name
// belong to dead processes.
void CheckpointDir::sweep_orphans() {
  for (const std::string& name : io::list_directory(path_)) {
    const auto entry = parse_name(name);
    if (!entry || !entry->pid) continue;
    const std::string orphan = path_ + "/" + name, target = path_of(entry->step);
    const bool set_aside = *entry->pid == 0 && ::access((orphan + "/" + kManifestFile).c_str(), F_OK) == 0;
    if (set_aside && !io::is_directory(target) && ::rename(orphan.c_str(), target.c_str()) == 0) continue;
    remove_checkpoint(orphan);
  }
}

std::string CheckpointDir::path_of(std::int64_t step) const { return path_ + "/" + name_of(step); }

std::vector<std::int64_t> CheckpointDir::steps() const {
  std::vector<std::int64_t> steps;
  for (const std::string& name : io::list_directory(path_)) {
    const auto step = step_of_checkpoint(name);
    if (step && io::is_directory(path_ + "/" + name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

void CheckpointDir::save(const CheckpointData& data, std::vector<std::string>* warnings) {
  if (data.step < 0)
    throw ConfigError(str("cannot save step ", data.step), "it is below zero", "count from 0");
  if (!is_locked()) {
    const std::string became = lock_again();
    if (warnings != nullptr) warnings->push_back(became);
  }
  for (bool is_written = false; !is_written;) {
    try {
      write(data);
      is_written = true;
    } catch (const io::DiskFull&) {
      if (!make_room(data.step, warnings)) throw;
    }
  }
  known_.insert(data.step);
  std::erase(damaged_, data.step);
  remove_old(data.step);
}

void CheckpointDir::write(const CheckpointData& data) {
  const std::string temporary = str(path_of(data.step), ".tmp-", ::getpid());
  remove_checkpoint(temporary);
  try {
    io::make_directories(temporary);
    io::write_safetensors(temporary + "/model.safetensors", data.model, data.model_metadata);
    io::write_safetensors(temporary + "/optim.safetensors", data.optim);
    io::write_file(temporary + "/state.json", data.state_json);
    write_manifest(temporary, data.step);
    publish(temporary, data.step);
  } catch (...) {
    remove_checkpoint(temporary);
    throw;
  }
}

// Removes the least valuable checkpoints: damaged ones, or if none is known those before the newest complete
// one. False if there is nothing to remove.
bool CheckpointDir::make_room(std::int64_t step, std::vector<std::string>* warnings) {
  const std::size_t damaged = remove(damaged_);
  forget_damaged_that_are_gone();
  const std::size_t removed = damaged > 0 ? damaged : remove_all_but_newest(step);
  if (removed == 0) return false;
  if (damaged == 0) keep_ = 1;
  if (warnings != nullptr)
    warnings->push_back(str("the disk of ", path_, " is full: ", removed, damaged > 0 ? " damaged" : " older",
                            removed == 1 ? " checkpoint" : " checkpoints", " made room for a new one",
                            damaged > 0 ? "" : ", and from now on the newest alone is kept"));
  return true;
}

// Removes those below this step that are older than the newest complete one; returns how many.
std::size_t CheckpointDir::remove_all_but_newest(std::int64_t step) {
  const auto is_whole = [this](std::int64_t s) {
    try {
      verify_checkpoint(path_of(s));
      return true;
    } catch (const IoError&) {
      return false;
    }
  };
  const std::vector<std::int64_t> before = steps();
  std::vector<std::int64_t> old(before.begin(), std::lower_bound(before.begin(), before.end(), step));
  while (old.size() > 1 && !is_whole(old.back())) old.pop_back();  // a single one always stays
  if (old.size() < 2) return 0;
  old.pop_back();
  return remove(old);
}

// Gives a complete directory its name. An existing one of the same step is exchanged with it, so that there
// is always one, and the older one is removed when the newer name is durable.
void CheckpointDir::publish(const std::string& temporary, std::int64_t step) {
  const std::string target = path_of(step);
  std::string older;
  if (!io::is_directory(target)) {
    if (::rename(temporary.c_str(), target.c_str()) != 0) io::throw_unwritable(target, "rename", errno);
  } else if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    older = temporary;
  } else {
    // For a file system that cannot exchange (NFS). No process has the number 0: after a kill here the next
    // start restores the older one's name.
    older = target + ".tmp-0";
    if (::rename(target.c_str(), older.c_str()) != 0) io::throw_unwritable(target, "rename", errno);
    if (::rename(temporary.c_str(), target.c_str()) != 0) {
      const int error = errno;
      (void)::rename(older.c_str(), target.c_str());
      io::throw_unwritable(target, "rename", error);
    }
  }
  io::sync_directory(path_);
  if (!older.empty()) remove_checkpoint(older);
}

// Later steps than `newest` belong to another run or are damaged: only damaged ones are removed.
void CheckpointDir::remove_old(std::int64_t newest) {
  std::vector<std::int64_t> whole, old = damaged_;
  for (const std::int64_t step : steps())
    if (step <= newest && std::find(damaged_.begin(), damaged_.end(), step) == damaged_.end())
      whole.push_back(step);
  if (whole.size() > static_cast<std::size_t>(keep_))
    old.insert(old.end(), whole.begin(), whole.end() - keep_);
  remove(old);
  forget_damaged_that_are_gone();
}

void CheckpointDir::forget_damaged_that_are_gone() {
  std::erase_if(damaged_, [&](std::int64_t step) { return !io::is_directory(path_of(step)); });
}

// Returns how many were removed.
std::size_t CheckpointDir::remove(const std::vector<std::int64_t>& steps) {
  std::size_t removed = 0;
  for (const std::int64_t step : steps) {
    if (!holds_our_files_alone(path_of(step))) continue;
    // Renamed first: a half-removed checkpoint must not look like a damaged one.
    const std::string temporary = str(path_of(step), ".tmp-", ::getpid());
    if (::rename(path_of(step).c_str(), temporary.c_str()) != 0) continue;
    remove_checkpoint(temporary);
    ++removed;
  }
  return removed;
}

std::optional<CheckpointData> CheckpointDir::load_newest(std::vector<std::string>* warnings) {
  std::vector<std::int64_t> candidates = steps();
  std::reverse(candidates.begin(), candidates.end());
  std::optional<IoError> first;
  for (const std::int64_t step : candidates) {
    try {
      return read_checkpoint(path_of(step));
    } catch (const NewerVersion&) {
      throw;  // it is complete; falling back would lose it
    } catch (const IoError& error) {
      if (!first) first = error;
      if (error.kind() == IoError::Kind::corrupt) damaged_.push_back(step);
      if (warnings != nullptr)
        warnings->push_back(
            str(path_of(step), " was passed over: ", error.summary(), " (", error.why(), ")"));
    }
  }
  if (!first) return std::nullopt;
  throw IoError(IoError::Kind::corrupt, first->summary(),
                str(first->why(), "; none of the ", candidates.size(), " checkpoints there is whole"),
                "restore the directory from a backup, or start again in another one");
}

}  // namespace veldt::train
