// This very program as a process of its own, which never outlives the one that started it.
// Tests: tests/app/sweep_test.cpp
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace veldt::app {

// A file descriptor that is closed at the end; -1: none.
class Descriptor {
 public:
  explicit Descriptor(int file = -1) : file_(file) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return file_; }

 private:
  int file_;
};

// How a process ended: by exit(code), or by a signal.
struct ChildEnd {
  int code = 0, signal_number = 0;
  std::int64_t peak_bytes = 0;  // of memory
};

class Child {
 public:
  // `veldt ARGUMENTS` with stdout into the file `out`, which is emptied, and stderr at the end of `err`. If
  // this process ends in any way, so does the child, at once. Call it from the main thread: a child ends with
  // the thread that started it. Throws IoError unwritable for a file that cannot be opened, OutOfMemory for
  // no process.
  Child(const std::vector<std::string>& arguments, const std::string& out, const std::string& err);
  // Kills it.
  ~Child();
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&& other) noexcept;

  // Asks it to save and stop, as a terminal that closes does: a request that may come twice.
  void ask_to_stop() const;
  // Nothing while it runs.
  std::optional<ChildEnd> ended();
  // Bytes that it has in memory, and has had at the most; 0 if the system does not say.
  std::int64_t memory() const { return status_of("VmRSS:"); }
  std::int64_t peak() const { return status_of("VmHWM:"); }

 private:
  std::int64_t status_of(const char* name) const;
  pid_t pid_ = -1;
};

}  // namespace veldt::app
