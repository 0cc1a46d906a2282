#include "veldt/app/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "veldt/app/values.h"

namespace veldt::app {
namespace {

// The first of these that is set decides, as setlocale() has it.
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
  return terminal;
}

void write_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(STDERR_FILENO, text.data(), text.size());
    if (put > 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (put == 0 || errno != EINTR) {
      return;
    }
  }
}

std::string on_one_line(std::string_view text) {
  std::string out;
  unsigned char before = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // U+0080 to U+009F in UTF-8 are control characters too: U+009B begins what ESC [ does.
    const bool is_c1 = before == 0xc2 && byte >= 0x80 && byte < 0xa0;
    if (is_c1) out.pop_back();
    if (is_c1) out += "\\xc2";
    if (is_c1 || byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
    before = byte;
  }
  return out;
}

void print_note(std::string_view text) { write_stderr(fmt::format("veldt: note: {}\n", on_one_line(text))); }

}  // namespace veldt::app
