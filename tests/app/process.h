// The veldt command as a process that a test can watch, signal and kill; run_veldt() is for commands that
// simply end.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/app/command.h"
#include "tests/support/temp_dir.h"

namespace veldt::test {

class Process {
 public:
  // stdout and stderr go to files in `log`.
  Process(const std::vector<std::string>& arguments, const TempDir& log)
      : out_path_(emptied(log / "stdout")), err_path_(emptied(log / "stderr")), pid_(::fork()) {
    if (pid_ != 0) return;
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(::open(out_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    ::dup2(::open(err_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    std::vector<std::string> words = {veldt_binary()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    // A shell starts what runs in its background with these ignored, and then no test could send them.
    for (const int number : {SIGINT, SIGQUIT}) ::signal(number, SIG_DFL);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ~Process() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal_number) const { ::kill(pid_, signal_number); }
  // Returns once all its threads stand still, or it has ended.
  void stop() const {
    send(SIGSTOP);
    siginfo_t state{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &state, WSTOPPED | WEXITED | WNOWAIT);
  }
  // The exit code, or minus the signal that ended it.
  int wait() {
    int status = 0;
    ::wait4(pid_, &status, 0, &usage_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  // True once it has a handler of its own for the signal.
  bool handles(int signal_number) const { return is_in("SigCgt:", signal_number); }
  // True while the signal was sent and has not arrived.
  bool is_pending(int signal_number) const {
    return is_in("ShdPnd:", signal_number) || is_in("SigPnd:", signal_number);
  }
  // The CPU time of all its threads.
  double cpu_seconds() const {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  // After wait().
  double peak_megabytes() const { return static_cast<double>(usage_.ru_maxrss) / 1024; }
  std::string out() const { return bytes_of(out_path_); }
  std::string err() const { return bytes_of(err_path_); }

 private:
  // A set of signals, of which /proc tells.
  bool is_in(const std::string& set, int signal_number) const {
    const std::string status = bytes_of("/proc/" + std::to_string(pid_) + "/status");
    const std::size_t at = status.find(set);
    return at != std::string::npos &&
           (std::strtoull(status.c_str() + at + set.size(), nullptr, 16) >> (signal_number - 1) & 1) != 0;
  }
  // Before the process starts, so that an earlier process's output is not mistaken for its own.
  static std::string emptied(const std::string& path) {
    put_bytes(path, "");
    return path;
  }

  std::string out_path_, err_path_;
  pid_t pid_;
  rusage usage_{};
};

// Checks repeatedly; false after `seconds`.
inline bool comes_true(const std::function<bool()>& condition, double seconds = 60) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// The name of the newest checkpoint in `directory`; "" if none has its name there.
inline std::string newest_checkpoint(const std::string& directory) {
  std::string newest;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("ckpt-") && name.find(".tmp") == std::string::npos) newest = std::max(newest, name);
  }
  return newest;
}
inline bool has_checkpoint(const std::string& directory) { return !newest_checkpoint(directory).empty(); }

}  // namespace veldt::test
