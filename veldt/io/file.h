// Files that can be trusted: reading refuses what is not a plain file, writing is all or nothing.
// Tests: tests/io/file_test.cpp, tests/io/power_failure_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "veldt/core/error.h"

namespace veldt::io {

// Kind unwritable, because the disk is full or a quota is used up.
class DiskFull : public IoError {
  using IoError::IoError;
};

// An IoError of kind unwritable: `action` ("write", "rename") failed on `path` with this errno.
IoError unwritable(const std::string& path, const std::string& action, int error_number);
// Throws it, as DiskFull where the errno says so.
[[noreturn]] void throw_unwritable(const std::string& path, const std::string& action, int error_number);

// A plain file, open for reading. Throws IoError missing if there is none, if it may not be read, or if
// `path` is a directory, a FIFO or a device: those have no size to check a header against, and may never end.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  // Reads up to `bytes`, fewer only at the end of the file; returns how many.
  std::size_t read(void* to, std::size_t bytes);
  // Throws IoError malformed if the file ends before `bytes` were read.
  void read_exactly(void* to, std::size_t bytes);
  void seek(std::uint64_t position);

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

// The whole file. Throws IoError malformed if it is longer than `max_bytes`.
std::string read_file(const std::string& path, std::uint64_t max_bytes = std::uint64_t{1} << 30);

// A file that is there whole or not at all. Bytes go to "<path>.tmp-<pid>" in the same directory; commit()
// makes them durable and gives them their name; without it the destructor removes them. It is locked (flock)
// as long as it is written, so that opening one can remove what dead writers of the same path have left, and
// leave alone what a live one writes, wherever that runs: process numbers mean nothing in another container.
// A symbolic link is followed, an existing file's mode is kept.
//
// A device, a FIFO, /dev/stdout and the like cannot be renamed over: they are written directly.
// Every failure is an IoError unwritable, and leaves no temporary file.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  // Write out, fsync, rename, fsync the directory.
  void commit();

 private:
  void open_temporary();
  bool open_and_lock();
  void write_out(const char* data, std::size_t bytes);
  void discard() noexcept;

  std::string path_;       // as the caller named it, for messages
  std::string target_;     // with a symbolic link followed
  std::string temporary_;  // empty: written directly
  int fd_ = -1;
  std::string buffer_;
  std::uint64_t written_ = 0;
};

// Writes a whole file at once, through AtomicFile.
void write_file(const std::string& path, const std::string& bytes);

// Throws the IoError that AtomicFile(path) would throw, and leaves nothing behind: for failing before hours
// of work and not after. A full disk cannot be foreseen.
void check_writable(const std::string& path);

// Removes what dead writers of this file have left, as opening an AtomicFile does, for one that need not be
// written. A directory that is not there or cannot be listed is left as it is.
void sweep_leftovers(const std::string& path);

// Removes a file; false if there was none.
bool remove_file(const std::string& path);

}  // namespace veldt::io
