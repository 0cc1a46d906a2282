// A terminal whose other end is the test's.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/app/command.h"

namespace veldt::test {

// The veldt command as the leader of a session of its own, with a terminal for all its streams.
class OnTerminal {
 public:
  explicit OnTerminal(const std::vector<std::string>& arguments)
      : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (::grantpt(master_) != 0 || ::unlockpt(master_) != 0) ADD_FAILURE() << "no pseudo terminal";
    const std::string name = ::ptsname(master_);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setsid();
    const int slave = ::open(name.c_str(), O_RDWR);
    ::ioctl(slave, TIOCSCTTY, 0);
    termios settings{};
    ::tcgetattr(slave, &settings);
    ::cfmakeraw(&settings);
    ::tcsetattr(slave, TCSANOW, &settings);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(slave, fd);
    std::vector<std::string> words = {veldt_binary()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ~OnTerminal() {
    close();
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  // All of its output until it ends.
  std::string shown() const {
    std::string all;
    std::array<char, 4096> buffer{};
    for (ssize_t got; (got = ::read(master_, buffer.data(), buffer.size())) > 0;)
      all.append(buffer.data(), static_cast<std::size_t>(got));
    return all;
  }
  void send(int signal_number) const { ::kill(pid_, signal_number); }
  // Its output until `text` has come, or it ends.
  std::string shown_until(const std::string& text) const {
    std::string all;
    std::array<char, 4096> buffer{};
    for (ssize_t got;
         all.find(text) == std::string::npos && (got = ::read(master_, buffer.data(), buffer.size())) > 0;)
      all.append(buffer.data(), static_cast<std::size_t>(got));
    return all;
  }
  // As Ctrl-S does: nothing is taken any more.
  void stop_output() const {
    const int slave = ::open(::ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_EQ(::tcflow(slave, TCOOFF), 0);
    ::close(slave);
  }
  bool has_ended() const {
    siginfo_t state{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &state, WEXITED | WNOHANG | WNOWAIT);
    return state.si_pid == pid_;
  }
  // As when its window is closed: the system sends SIGHUP, and nothing can be written any more.
  void close() {
    if (master_ >= 0) ::close(std::exchange(master_, -1));
  }
  // The exit code, or minus the signal that ended it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  int master_;
  pid_t pid_ = -1;
};

}  // namespace veldt::test
