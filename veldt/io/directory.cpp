// Lists, makes and syncs directories, and finds the free space.
#include "veldt/io/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "veldt/io/file.h"

namespace veldt::io {

std::vector<std::string> list_directory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
  if (!directory)
    throw IoError(IoError::Kind::missing, "cannot list " + path, std::generic_category().message(errno),
                  "give the path of a directory that you may read");
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

void make_directories(const std::string& path) {
  if (is_directory(path)) return;
  for (std::size_t end = 0; end != std::string::npos && end < path.size();) {
    end = path.find('/', path.find_first_not_of('/', end));
    const std::string part = path.substr(0, end);
    if (is_directory(part)) continue;
    if (::mkdir(part.c_str(), 0777) == 0) {
      sync_directory(parent_of(part));
    } else if (const int error = errno; !is_directory(part)) {  // another process may have been faster
      throw_unwritable(part, "making the directory", error == EEXIST ? ENOTDIR : error);
    }
  }
  if (!is_directory(path)) throw_unwritable(path, "making the directory", ENOENT);
}

void sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == EACCES)
      return;  // writable but not readable: it cannot be synced, so the kernel does it later
    throw_unwritable(path, "opening the directory", errno);
  }
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  // Some file systems cannot sync a directory, and say so.
  if (error != 0 && error != EINVAL && error != ENOTSUP)
    throw_unwritable(path, "fsync of the directory", error);
}

std::optional<std::uint64_t> free_bytes(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0 || info.f_blocks == 0) return std::nullopt;
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace veldt::io
