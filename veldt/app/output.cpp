#include "veldt/app/output.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>

#include "veldt/io/file.h"

namespace veldt::app {

void Output::text(std::string_view text) {
  while (!closed_ && !text.empty()) {
    const ssize_t put = ::write(STDOUT_FILENO, text.data(), text.size());
    if (put >= 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno != EINTR) {
      throw io::unwritable("standard output", "writing results", errno);
    }
  }
}

void Output::json(const nlohmann::ordered_json& object) {
  has_json_ = true;
  text(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void prepare_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() gives the lowest free number, which is `fd`: the ones below are open by now.
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDWR) < 0) return;
  }
  ::signal(SIGPIPE, SIG_IGN);
}

}  // namespace veldt::app
