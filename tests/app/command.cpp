// Starts the veldt command with pipes for its streams, feeds it, and collects its output and exit status.
#include "tests/app/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <regex>

namespace veldt::test {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
    read_end = ends[0];
    write_end = ends[1];
  }
};

// In the child, after fork.
void connect_streams(const RunOptions& options, const Pipe& out, const Pipe& err) {
  if (options.in == Stream::closed) {
    ::close(STDIN_FILENO);
  } else {
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  }
  ::dup2(err.write_end, STDERR_FILENO);
  if (options.out == Stream::closed) {
    ::close(STDOUT_FILENO);
  } else if (options.out == Stream::full_device) {
    ::dup2(::open("/dev/full", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
  } else {
    ::dup2(out.write_end, STDOUT_FILENO);
  }
}

[[noreturn]] void become(const std::vector<std::string>& arguments, const RunOptions& options,
                         const Pipe& out, const Pipe& err) {
  if (options.out == Stream::reader_gone) ::close(out.read_end);
  connect_streams(options, out, err);
  for (const int number : {SIGPIPE, SIGINT, SIGQUIT}) ::signal(number, SIG_DFL);
  if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) ::_exit(126);
  ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);  // the settings of whoever runs the tests are not theirs
  for (const std::string& entry : options.environment) ::putenv(const_cast<char*>(entry.c_str()));
  if (options.as_nobody && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(126);
  std::vector<std::string> words = {options.binary.empty() ? veldt_binary() : options.binary};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

// Reads the available bytes; false once the other end is closed.
bool drain(int fd, std::string& into) {
  std::array<char, 65536> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0) into.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

// Until both streams are closed, or the time is over.
void listen(pid_t child, const RunOptions& options, int out, int err, Clock::time_point start, Ran& ran) {
  std::array<pollfd, 2> streams = {pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
  auto signals = options.signals;
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    if (!signals.empty() && since(start) >= signals.front().first) {
      ::kill(child, signals.front().second);
      signals.erase(signals.begin());
    }
    if (since(start) > options.limit_seconds) {
      ADD_FAILURE() << "the command was still running after " << options.limit_seconds << " s";
      ::kill(child, SIGKILL);
      return;
    }
    ::poll(streams.data(), streams.size(), 20);
    for (std::size_t i = 0; i < streams.size(); ++i)
      if (streams[i].fd >= 0 && streams[i].revents != 0 && !drain(streams[i].fd, i == 0 ? ran.out : ran.err))
        streams[i].fd = -1;
  }
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

std::string veldt_binary() {
  const char* chosen = std::getenv("VELDT_BINARY");
  return chosen == nullptr ? VELDT_BINARY : chosen;
}

Ran run_veldt(const std::vector<std::string>& arguments, const RunOptions& options) {
  const Pipe out, err;
  Ran ran;
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) become(arguments, options, out, err);
  ::close(out.write_end);
  ::close(err.write_end);
  if (options.out == Stream::reader_gone) ::close(out.read_end);
  listen(child, options, options.out == Stream::reader_gone ? -1 : out.read_end, err.read_end, start, ran);
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  ran.seconds = since(start);
  ran.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  if (options.out != Stream::reader_gone) ::close(out.read_end);
  ::close(err.read_end);
  return ran;
}

testing::AssertionResult has_three_lines(const std::string& text) {
  static const std::regex kForm("veldt: error: [^\n]+\n  why: [^\n]+\n  fix: [^\n]+\n");
  if (std::regex_match(text, kForm)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not an error of three lines:\n" << text.substr(0, 2000);
}

}  // namespace veldt::test
