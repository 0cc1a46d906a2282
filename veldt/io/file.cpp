// Opens plain files only, never pipes or devices, and writes beside the old file until the new one is
// complete.
#include "veldt/io/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

#include "veldt/io/directory.h"

namespace veldt::io {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

std::string message_of(int error_number) { return std::generic_category().message(error_number); }

const char* fix_for(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT: return "free some space there, or write to another disk";
    case EFBIG: return "raise the limit on file sizes (ulimit -f), or write to another disk";
    case EROFS: return "write to a disk that is not mounted read-only";
    case EACCES:
    case EPERM: return "change the permissions, or choose a place that you may write to";
    case ENOENT: return "make the directory first (mkdir -p), or choose another path";
    case ENOTDIR: return "a part of the path is a file; choose another path";
    case EISDIR: return "give the path of a file in that directory";
    case ENAMETOOLONG: return "choose a shorter name; .tmp-<pid> is added while writing";
    case EPIPE: return "keep the reading end open until everything is written";
    default: return "check the disk (its messages are in dmesg), or write to another one";
  }
}

IoError unreadable(const std::string& path, const std::string& why, const std::string& fix) {
  return {IoError::Kind::missing, "cannot read " + path, why, fix};
}

const char* kind_of_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// stdout by another name: it may be a file that another process has open.
bool names_open_file(const std::string& path) {
  return path.starts_with("/dev/std") || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

// The file that a symbolic link points to, because a rename over the link would replace it. The file need not
// exist yet.
std::string follow_links(std::string path) {
  for (int links = 0; links < 40; ++links) {  // the kernel's own limit
    char name[4096];
    const ssize_t length = ::readlink(path.c_str(), name, sizeof name);
    if (length < 0) return path;  // not a link, or missing
    const std::string to(name, static_cast<std::size_t>(length));
    path = to.starts_with('/') ? to : parent_of(path) + "/" + to;
  }
  throw unwritable(path, "open", ELOOP);
}

// "<pid>" or "<pid>.<n>", the end of a temporary name.
bool is_of_a_process(std::string_view text) {
  std::int64_t pid = 0, n = 0;
  const char* end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, pid);
  if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '.')
    parsed = std::from_chars(parsed.ptr + 1, end, n);
  return parsed.ec == std::errc() && parsed.ptr == end && pid > 0 && n >= 0;
}

bool is_still_called(int fd, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

// Removes a temporary file that nobody has locked. Between opening and locking, its name may pass to another
// file; once it is locked it cannot, because a writer that does not get the lock gives up.
void remove_if_dead(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return;  // another process has it, or it is gone
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && ::flock(fd, LOCK_EX | LOCK_NB) == 0 &&
      is_still_called(fd, path))
    ::unlink(path.c_str());
  ::close(fd);
}

}  // namespace

std::string ending_of(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  const std::size_t dot = name.find_last_of('.');
  if (dot == std::string::npos || dot == 0) return {};
  std::string ending = name.substr(dot);
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return ending;
}

IoError unwritable(const std::string& path, const std::string& action, int error_number) {
  return {IoError::Kind::unwritable, "cannot write " + path, action + " failed: " + message_of(error_number),
          fix_for(error_number)};
}

void throw_unwritable(const std::string& path, const std::string& action, int error_number) {
  const IoError error = unwritable(path, action, error_number);
  if (error_number == ENOSPC || error_number == EDQUOT)
    throw DiskFull(error.kind(), error.summary(), error.why(), error.fix());
  throw IoError(error);
}

// ---- reading ----

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // O_NONBLOCK: opening a FIFO without a writer would wait forever.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd_ < 0) {
    const int error = errno;
    throw unreadable(path_, message_of(error),
                     error == EACCES ? "change its permissions" : "check the path and its spelling");
  }
  struct stat info {};
  const bool known = ::fstat(fd_, &info) == 0;
  if (known && S_ISREG(info.st_mode)) {
    size_ = static_cast<std::uint64_t>(info.st_size);
    return;
  }
  ::close(fd_);
  throw unreadable(path_, known ? str("it is ", kind_of_file(info.st_mode)) : "its kind cannot be found out",
                   "give the path of a plain file");
}

InputFile::InputFile(std::span<const std::byte> bytes, std::string name)
    : path_(std::move(name)), size_(bytes.size()), memory_(bytes.data()) {}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::size_t InputFile::read(void* to, std::size_t bytes) {
  if (fd_ < 0) {
    const std::size_t count = std::min<std::uint64_t>(bytes, size_ - std::min(at_, size_));
    if (count > 0) std::memcpy(to, memory_ + at_, count);
    at_ += count;
    return count;
  }
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::read(fd_, static_cast<char*>(to) + done, bytes - done);
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw unreadable(path_, str("reading failed: ", message_of(errno)),
                       "check the disk, or copy the file to another one");
    }
  }
  return done;
}

void InputFile::read_exactly(void* to, std::size_t bytes) {
  const std::size_t got = read(to, bytes);
  if (got != bytes)
    throw IoError(IoError::Kind::malformed, str(path_, " ends too early"),
                  str(bytes - got, " more bytes were expected"), "copy or download the file again");
}

void InputFile::seek(std::uint64_t position) {
  if (fd_ < 0) {
    at_ = position;
    return;
  }
  if (::lseek(fd_, static_cast<off_t>(position), SEEK_SET) < 0)
    throw unreadable(path_, str("seeking failed: ", message_of(errno)), "copy the file to another disk");
}

std::string read_file(const std::string& path, std::uint64_t max_bytes) {
  InputFile file(path);
  if (file.size() > max_bytes)
    throw IoError(IoError::Kind::malformed, str(path, " is too long"),
                  str("it has ", file.size(), " bytes and ", max_bytes, " are allowed"),
                  "check that it is the file you mean");
  std::string bytes(file.size(), '\0');
  bytes.resize(file.read(bytes.data(), bytes.size()));
  return bytes;
}

// ---- writing ----

bool can_be_replaced(const std::string& path) {
  struct stat info {};
  return !names_open_file(path) && (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode));
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), target_(path_) {
  if (path_.empty())
    throw IoError(IoError::Kind::unwritable, "cannot write a file without a name", "the path is empty",
                  "give a path");
  struct stat info {};
  const bool exists = ::stat(path_.c_str(), &info) == 0;
  if ((exists && S_ISDIR(info.st_mode)) || path_.back() == '/') throw_unwritable(path_, "open", EISDIR);
  if (!can_be_replaced(path_)) {
    // O_APPEND: /dev/stdout may be a file that already holds something.
    fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (fd_ < 0) throw_unwritable(path_, "open", errno);
    return;
  }
  if (exists) {
    // A rename would replace a write-protected file all the same.
    if (::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) throw_unwritable(path_, "open", errno);
  }
  target_ = follow_links(path_);
  open_temporary();
  if (exists) ::fchmod(fd_, info.st_mode & 07777);
}

void AtomicFile::open_temporary() {
  sweep_leftovers(target_);
  const std::string base = str(target_, ".tmp-", ::getpid());
  temporary_ = base;
  // A second writer of the same path in this process takes another name, and so does one with the same pid in
  // another container.
  for (int i = 1; i < 100; ++i) {
    if (open_and_lock()) return;
    if (errno != EEXIST) break;
    temporary_ = str(base, ".", i);
  }
  const int error = errno;
  temporary_.clear();
  if (error == ENOENT)
    throw IoError(IoError::Kind::unwritable, "cannot write " + path_,
                  "there is no directory " + parent_of(target_), fix_for(error));
  throw_unwritable(path_, "opening a file beside it", error);
}

// False, with errno, if no file of that name can be created. If another process removes the file before it is
// locked, the name counts as taken. Where locks are unsupported (some network file systems), nothing is
// removed either.
bool AtomicFile::open_and_lock() {
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) return false;
  const bool is_ours = ::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (is_ours && is_still_called(fd_, temporary_)) return true;
  ::close(fd_);
  fd_ = -1;
  errno = EEXIST;
  return false;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (fd_ < 0) return;
  // While the lock protects it, and only if the name is still this file's.
  if (!temporary_.empty() && is_still_called(fd_, temporary_)) ::unlink(temporary_.c_str());
  ::close(fd_);
  fd_ = -1;
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  if (bytes >= kBufferBytes) {
    write_out(buffer_.data(), buffer_.size());
    buffer_.clear();
    write_out(static_cast<const char*>(data), bytes);
    return;
  }
  if (buffer_.capacity() < kBufferBytes) buffer_.reserve(kBufferBytes);
  if (buffer_.size() + bytes > kBufferBytes) {
    write_out(buffer_.data(), buffer_.size());
    buffer_.clear();
  }
  buffer_.append(static_cast<const char*>(data), bytes);
}

void AtomicFile::write_out(const char* data, std::size_t bytes) {
  if (fd_ < 0)
    throw IoError(IoError::Kind::unwritable, "cannot write " + path_,
                  "it is finished, or an earlier write failed", "open it again");
  while (bytes > 0) {
    const ssize_t put = ::write(fd_, data, bytes);
    if (put >= 0) {
      data += put;
      bytes -= static_cast<std::size_t>(put);
      written_ += static_cast<std::uint64_t>(put);
    } else if (errno != EINTR) {
      const int error = errno;
      discard();
      throw_unwritable(path_, str("writing after ", written_, " bytes"), error);
    }
  }
}

void AtomicFile::commit() {
  write_out(buffer_.data(), buffer_.size());
  buffer_.clear();
  if (temporary_.empty()) {  // written directly: a device may not support fsync
    const int closed = ::close(fd_);
    fd_ = -1;
    if (closed != 0) throw_unwritable(path_, "close", errno);
    return;
  }
  const auto fail = [&](const char* action) {
    const int error = errno;
    discard();
    throw_unwritable(path_, action, error);
  };
  if (::fsync(fd_) != 0) fail("fsync");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("rename");
  temporary_.clear();  // renamed: nothing to remove
  discard();
  sync_directory(parent_of(target_));
}

void write_file(const std::string& path, const std::string& bytes) {
  AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

void check_writable(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode)) {
    // Opening a FIFO waits for its reader.
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) throw_unwritable(path, "open", errno);
    return;
  }
  AtomicFile probe(path);
}

void sweep_leftovers(const std::string& path) {
  const std::string directory = parent_of(path);
  const std::string temporary = path.substr(path.find_last_of('/') + 1) + ".tmp-";
  std::vector<std::string> names;
  try {
    names = list_directory(directory);
  } catch (const IoError&) {
    return;  // a directory that is writable but cannot be listed
  }
  for (const std::string& name : names)
    if (name.starts_with(temporary) && is_of_a_process(std::string_view(name).substr(temporary.size())))
      remove_if_dead(directory + "/" + name);
}

bool remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return true;
  if (errno == ENOENT) return false;
  throw_unwritable(path, "remove", errno);
}

}  // namespace veldt::io
