// Starts this program again by /proc/self/exe, and asks Linux to kill it with its parent.
#include "veldt/app/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "veldt/core/error.h"
#include "veldt/io/file.h"

namespace veldt::app {
namespace {

Descriptor opened(const std::string& path, int flags) {
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (file.get() < 0) io::throw_unwritable(path, "open", errno);
  return file;
}

// Between fork and exec: only what is safe there.
[[noreturn]] void become(char* const* arguments, pid_t parent, int in, int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it was gone before
  ::dup2(in, STDIN_FILENO), ::dup2(out, STDOUT_FILENO), ::dup2(err, STDERR_FILENO);
  // What a terminal sends is for the parent, which passes it on; and that has to arrive, though the parent
  // may ignore it (nohup).
  ::setpgid(0, 0);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGHUP, &usual, nullptr);
  ::execv("/proc/self/exe", arguments);
  ::_exit(127);
}

}  // namespace

Descriptor::~Descriptor() {
  if (file_ >= 0) ::close(file_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

Child::Child(const std::vector<std::string>& arguments, const std::string& out, const std::string& err) {
  const Descriptor out_file = opened(out, O_WRONLY | O_CREAT | O_TRUNC),
                   err_file = opened(err, O_WRONLY | O_CREAT | O_APPEND),
                   in_file = opened("/dev/null", O_RDONLY);
  std::vector<std::string> words{"veldt"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(pointers.data(), parent, in_file.get(), out_file.get(), err_file.get());
  if (pid_ < 0)
    throw OutOfMemory("cannot start a process", std::strerror(errno),
                      "end other programs, or give fewer --jobs");
}

Child::~Child() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

void Child::ask_to_stop() const {
  if (pid_ > 0) ::kill(pid_, SIGHUP);
}

std::optional<ChildEnd> Child::ended() {
  int status = 0;
  rusage usage{};
  if (pid_ <= 0 || ::wait4(pid_, &status, WNOHANG, &usage) != pid_) return std::nullopt;
  pid_ = -1;
  return ChildEnd{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                  .signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                  .peak_bytes = std::int64_t{usage.ru_maxrss} * 1024};
}

std::int64_t Child::status_of(const char* name) const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return std::strtoll(line.c_str() + std::strlen(name), nullptr, 10) * 1024;
  return 0;
}

}  // namespace veldt::app
