// Finds out what stderr can show, and prevents text from controlling a terminal.
#include "veldt/cli/terminal.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "veldt/cli/environment.h"
#include "veldt/core/escape.h"

namespace veldt::cli {
namespace {

// While write_stderr() writes, and what a handler had to say meanwhile.
volatile std::sig_atomic_t is_writing = 0;
const char* volatile waiting_text = nullptr;
// What a handler may not ask for: isatty() is none of its functions.
volatile std::sig_atomic_t is_terminal = 0;
// Whoever reads nothing more must not keep a run from its end.
volatile std::sig_atomic_t is_in_a_hurry = 0;

// Whether a write of a little text would not wait, after at most so many milliseconds; true also for what
// cannot be written at all. A signal ends the wait.
bool takes_text(int milliseconds) {
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  return ::poll(&out, 1, milliseconds) == 1;
}

// For handlers. What finds no room is lost.
void put_if_it_fits(std::string_view text) {
  const int kept = errno;
  if (takes_text(0)) {
    [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
  }
  errno = kept;
}

// Waits as long as it takes; after a signal that asks for a stop a moment longer, and then no more.
bool waits_for_room() {
  constexpr int kTick = 100;  // milliseconds
  for (int more = 5; !takes_text(is_in_a_hurry > 1 ? 0 : kTick);) {
    if (is_in_a_hurry == 0) continue;
    if (is_in_a_hurry > 1 || --more == 0) {
      is_in_a_hurry = 2;
      return false;
    }
  }
  return true;
}

// The first of these that is set counts, as in setlocale().
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = variable(name);
    if (!value.empty())
      return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

Terminal stderr_terminal() {
  Terminal terminal;
  const std::string kind = variable("TERM");
  terminal.live = ::isatty(STDERR_FILENO) == 1 && kind != "dumb";
  terminal.color = terminal.live && variable("NO_COLOR").empty();
  terminal.utf8 = locale_is_utf8();
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return terminal;
  if (size.ws_col > 0) terminal.width = size.ws_col;
  if (size.ws_row > 0) terminal.height = size.ws_row;
  if (size.ws_col > 0 && size.ws_row > 0) {
    terminal.cell_width = size.ws_xpixel / size.ws_col;
    terminal.cell_height = size.ws_ypixel / size.ws_row;
  }
  return terminal;
}

bool stdout_has_colours() {
  return ::isatty(STDOUT_FILENO) == 1 && variable("TERM") != "dumb" && variable("NO_COLOR").empty();
}

void write_stderr(std::string_view text) {
  constexpr std::size_t kPart = 4096;  // a pipe with room for any has room for this
  is_writing = 1;
  while (!text.empty() && waits_for_room()) {
    const ssize_t put = ::write(STDERR_FILENO, text.data(), std::min(text.size(), kPart));
    if (put > 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (put == 0 || (errno != EINTR && errno != EAGAIN)) {
      break;
    }
  }
  is_writing = 0;
  if (const char* const said = waiting_text; said != nullptr) {
    waiting_text = nullptr;
    put_if_it_fits(said);
  }
}

void prepare_for_handlers() {
  is_terminal = ::isatty(STDERR_FILENO) == 1 ? 1 : 0;
  waiting_text = nullptr;
  is_in_a_hurry = 0;
}

void hurry_stderr() {
  if (is_in_a_hurry == 0) is_in_a_hurry = 1;
}

void say_from_handler(const char* text) {
  if (is_writing != 0)
    waiting_text = text;
  else
    put_if_it_fits(text);
}

void leave_stderr() {
  // The end of a string (of a picture, say), then no colours.
  constexpr std::string_view kPlain = "\n", kOut = "\x1b\\\x1b[0m\n";
  put_if_it_fits(is_writing != 0 && is_terminal != 0 ? kOut : kPlain);
}

std::string on_one_line(std::string_view text) { return escape_controls(text); }

void print_note(std::string_view text) { write_stderr(fmt::format("veldt: note: {}\n", on_one_line(text))); }

void print_warning(std::string_view text) {
  write_stderr(fmt::format("veldt: warning: {}\n", on_one_line(text)));
}

}  // namespace veldt::cli
