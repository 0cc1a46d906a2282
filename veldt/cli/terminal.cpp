// Finds out what stderr can show, and prevents text from controlling a terminal.
#include "veldt/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "veldt/cli/environment.h"
#include "veldt/core/escape.h"

namespace veldt::cli {
namespace {

// While write_stderr() writes, and what a handler had to say meanwhile.
volatile std::sig_atomic_t is_writing = 0;
const char* volatile waiting_line = nullptr;

void put_line(const char* line) {
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;  // whose live line has no end
  for (const std::string_view text :
       {std::string_view(is_terminal ? "\n" : ""), std::string_view(line), std::string_view("\n")}) {
    [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
  }
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
  is_writing = 1;
  while (!text.empty()) {
    const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
    if (put > 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (put == 0 || errno != EINTR) {
      break;
    }
  }
  is_writing = 0;
  if (const char* const line = waiting_line; line != nullptr) {
    waiting_line = nullptr;
    put_line(line);
  }
}

void say_from_handler(const char* line) {
  if (is_writing != 0)
    waiting_line = line;
  else
    put_line(line);
}

void leave_stderr() {
  // The end of a string (of a picture, say), then no colours.
  constexpr std::string_view kPlain = "\n", kOut = "\x1b\\\x1b[0m\n";
  const std::string_view text = is_writing != 0 && ::isatty(STDERR_FILENO) == 1 ? kOut : kPlain;
  [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
}

std::string on_one_line(std::string_view text) { return escape_controls(text); }

void print_note(std::string_view text) { write_stderr(fmt::format("veldt: note: {}\n", on_one_line(text))); }

void print_warning(std::string_view text) {
  write_stderr(fmt::format("veldt: warning: {}\n", on_one_line(text)));
}

}  // namespace veldt::cli
