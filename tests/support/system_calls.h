// The calls by which a test program gets memory, threads and files pass through here, so that a test can note
// them, or make one fail.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace veldt::test {

enum class Call { allocate, start_thread, open, write, truncate, sync, rename, remove, make_directory };

struct SystemCall {
  Call call{};
  int fd = -1;                 // of write, truncate, sync; of open once it is done
  const char* path = nullptr;  // of open, rename, remove, make_directory
  const char* to = nullptr;    // of rename
  const void* data = nullptr;  // of write
  std::size_t bytes = 0;       // of allocate, write, truncate
  int flags = 0;               // of open; of renameat2
};

// Sees the calls of all threads. What it calls itself it does not see.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // 0, or the errno with which the call is to fail without being made.
  virtual int before(const SystemCall& call) = 0;
  // It was made and did not fail; `result` is what it gave: of open the file, of write the bytes.
  virtual void after(const SystemCall&, std::int64_t) {}
};

// While one exists, `watcher` sees all calls. False if a sanitizer intercepts the calls itself.
class Watch {
 public:
  explicit Watch(Watcher& watcher);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
};
extern const bool kCanWatch;

// Fails call number `n` of a kind, from 1, and if `for_good` all later ones.
class FailingCall final : public Watcher {
 public:
  FailingCall(Call call, std::int64_t n, int error = ENOMEM, bool for_good = false)
      : call_(call), n_(n), error_(error), for_good_(for_good) {}
  int before(const SystemCall& call) override;
  std::int64_t count() const { return count_; }
  bool reached() const { return count_ >= n_; }

 private:
  const Call call_;
  const std::int64_t n_;
  const int error_;
  const bool for_good_;
  std::atomic<std::int64_t> count_{0};
  std::atomic<bool> failed_{false};
};

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace veldt::test
