// Safe file access: only plain files are read, and writing is all or nothing.
// Tests: tests/io/file_test.cpp, tests/io/power_failure_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "veldt/core/error.h"

namespace veldt::io {

// Of kind unwritable: the disk is full or a quota is used up.
class DiskFull : public IoError {
  using IoError::IoError;
};

// An IoError of kind unwritable: `action` ("write", "rename") failed on `path` with this errno.
IoError unwritable(const std::string& path, const std::string& action, int error_number);
// Throws it, as DiskFull where the errno says so.
[[noreturn]] void throw_unwritable(const std::string& path, const std::string& action, int error_number);

// In lower case: ".jpg" of a/b.JPG, nothing of .hidden.
std::string ending_of(const std::string& path);

// A plain file, open for reading. Throws IoError missing if there is none, if it may not be read, or if
// `path` is a directory, a FIFO or a device: those have no size to check a header against, and may never end.
class InputFile {
 public:
  explicit InputFile(std::string path);
  // The same of bytes in memory, which must live as long; `name` is for messages.
  InputFile(std::span<const std::byte> bytes, std::string name);
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
  int fd_ = -1;  // -1: in memory
  std::uint64_t size_ = 0;
  const std::byte* memory_ = nullptr;
  std::uint64_t at_ = 0;  // in memory
};

// The whole file. Throws IoError malformed if it is longer than `max_bytes`.
std::string read_file(const std::string& path, std::uint64_t max_bytes = std::uint64_t{1} << 30);

// A file that is written completely or not at all. Bytes go to "<path>.tmp-<pid>" in the same directory;
// commit() makes them durable and renames the file; without it the destructor removes it. The file is locked
// (flock) while it is written. So opening one can remove the leftovers of dead writers of the same path and
// keep the files of live ones, in any container: a pid only identifies a process within its own. A symbolic
// link is followed, an existing file's mode is kept.
//
// A device, a FIFO, /dev/stdout and the like cannot be renamed over: they are written directly.
// Every failure is an IoError unwritable and leaves no temporary file.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  // Flush, fsync, rename, fsync the directory.
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

// Whether AtomicFile replaces what is there, or makes the file: then a result may be written, and later a
// better one. A second one into what is written directly would follow the first.
bool can_be_replaced(const std::string& path);

// Writes a whole file at once, through AtomicFile.
void write_file(const std::string& path, const std::string& bytes);

// Throws the IoError that AtomicFile(path) would throw, and leaves no file: so that a run fails before hours
// of work and not after. It cannot detect a disk that will be full.
void check_writable(const std::string& path);

// Removes the leftovers of dead writers of this file, as opening an AtomicFile does, without writing it. Does
// nothing if the directory is missing or cannot be listed.
void sweep_leftovers(const std::string& path);

// Removes a file; false if there was none.
bool remove_file(const std::string& path);

}  // namespace veldt::io
