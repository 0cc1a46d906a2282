// Writes records from a thread of the lowest rank.
#include "veldt/live/keeper.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "veldt/core/error.h"

namespace veldt::live {
Keeper::Keeper(std::shared_ptr<const Board> board, std::string directory, double every)
    : board_(std::move(board)), directory_(std::move(directory)), thread_([this, every] { work(every); }) {}

Keeper::~Keeper() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Keeper::work(double every) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 19);
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, std::chrono::duration<double>(every), [this] { return over_; })) return;
    }
    write();
  }
}

void Keeper::write() {
  const std::lock_guard one(writing_);
  const std::uint64_t version = board_->version();
  if (version == written_) return;
  try {
    // What is left of a disk is for checkpoints: a record that is being written takes room twice.
    save_record(board_->record(), directory_, std::uint64_t{4} << 20);
    written_ = version;
  } catch (const Error& e) {
    fail(str(e.summary(), " (", e.why(), ")"));
  } catch (const std::exception& e) {
    fail(e.what());
  }
}

void Keeper::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(has_failed_, true)) failure_ = why;
}

std::string Keeper::take_failure() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failure_, "");
}

}  // namespace veldt::live
