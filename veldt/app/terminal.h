// stderr, for news: what kind of terminal it is, and short messages to it.
// Tests: tests/app/pieces_test.cpp
#pragma once

#include <string>
#include <string_view>

namespace veldt::app {

struct Terminal {
  bool live = false;   // a terminal that can redraw a line
  bool color = false;  // may be coloured: live, and NO_COLOR is not set
  bool utf8 = false;   // shows more than ASCII
  int width = 80;
  int height = 24;
};

// stderr as it is now: the width changes when a window does.
Terminal stderr_terminal();

// Everything, at once; failures are ignored, because there is nobody left to tell.
void write_stderr(std::string_view text);

// Text from a file or a path, by escape_controls(): what is printed holds such a text in no other form.
std::string on_one_line(std::string_view text);

// "veldt: note: .." for what a user may like to know.
void print_note(std::string_view text);
// "veldt: warning: .." for what went wrong and does not end the work.
void print_warning(std::string_view text);

}  // namespace veldt::app
