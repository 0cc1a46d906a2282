// Writes results to stdout, as text or JSON, and makes sure that no file is opened in its place.
#include "veldt/cli/output.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>

#include "veldt/core/escape.h"
#include "veldt/io/file.h"

namespace veldt::cli {
namespace {

bool is_device(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISCHR(info.st_mode);
}

}  // namespace

void Output::text(std::string_view text) {
  if (lost_ && !closed_ && !text.empty())
    throw IoError(IoError::Kind::unwritable, "cannot write standard output", "it was closed from the start",
                  "redirect it to a file, or to /dev/null if it is not wanted");
  while (!closed_ && !text.empty()) {
    const ssize_t put = ::write(STDOUT_FILENO, text.data(), text.size());
    if (put >= 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EPIPE || (errno == EIO && is_device(STDOUT_FILENO))) {
      closed_ = true;  // EIO: the terminal was closed
    } else if (errno != EINTR) {
      throw io::unwritable("standard output", "writing results", errno);
    }
  }
}

void Output::foreign_text(std::string_view text) {
  this->text(::isatty(STDOUT_FILENO) == 1 ? escape_controls(text, "\n\t") : std::string(text));
}

void Output::json(const nlohmann::ordered_json& object) {
  text(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  has_json_ = true;
}

bool prepare_standard_streams() {
  const bool has_stdout = ::fcntl(STDOUT_FILENO, F_GETFD) >= 0 || errno != EBADF;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() gives the lowest free number, which is `fd`: the ones below are open by now.
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDWR) < 0) break;
  }
  ::signal(SIGPIPE, SIG_IGN);
  return has_stdout;
}

}  // namespace veldt::cli
