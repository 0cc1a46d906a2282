// Real faults for tests of io and train: small disks, file size limits, missing rights.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>

#include "tests/support/child.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace veldt::test {

// A disk of a few pages. Needs root; active() is false without it.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path, const std::string& size = "64k") : path_(path) {
    std::filesystem::create_directories(path_);
    active_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (active_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool active() const { return active_; }
  bool make_read_only() const {
    return active_ && ::mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  std::string path_;
  bool active_ = false;
};

// While one exists, root becomes nobody, so permissions apply.
class WithoutRoot {
 public:
  WithoutRoot() : was_root_(::geteuid() == 0) {
    if (was_root_ && ::seteuid(65534) != 0) ADD_FAILURE() << "seteuid failed";
  }
  ~WithoutRoot() {
    if (was_root_ && ::seteuid(0) != 0) ADD_FAILURE() << "seteuid failed";
  }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;

 private:
  bool was_root_;
};

// A pid that no process has.
inline int dead_pid() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

// Makes every write beyond `bytes` of a file fail with EFBIG, in this process.
inline void limit_file_size(rlim_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

}  // namespace veldt::test
