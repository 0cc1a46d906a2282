// stderr, for progress and messages: the kind of terminal, and short messages to it.
// Tests: tests/app/pieces_test.cpp
#pragma once

#include <string>
#include <string_view>

namespace veldt::cli {

struct Terminal {
  bool live = false;   // a terminal that can redraw a line
  bool color = false;  // may be coloured: live, and NO_COLOR is not set
  bool utf8 = false;   // shows more than ASCII
  int width = 80;
  int height = 24;
  int cell_width = 0, cell_height = 0;  // of a character, in pixels; 0: unknown
};

// stderr as it is now: the width changes when a window does.
Terminal stderr_terminal();

// Whether results may be coloured: stdout is a terminal that is not dumb, and NO_COLOR is not set.
bool stdout_has_colours();

// Writes all of it at once. Failures are ignored, because they could not be reported anywhere. Waits for a
// reader that takes nothing (a terminal after Ctrl-S), but no longer than a moment after hurry_stderr().
void write_stderr(std::string_view text);

// Before handlers may call what is below: finds out what they cannot. Forgets what still waits to be said.
void prepare_for_handlers();
// Nothing waits for stderr's reader from now on.
void hurry_stderr();
// For a signal's handler that ends the process: moves past the live line, and out of a control sequence if
// write_stderr() was in the middle of one.
void leave_stderr();
// For a handler that goes on. In the middle of a write_stderr() the text waits for its end, so it must stay
// until prepare_for_handlers(). It is lost where it would have to wait for a reader.
void say_from_handler(const char* text);

// Text from a file or a path, by escape_controls(): such text is only printed in this form.
std::string on_one_line(std::string_view text);

// "veldt: note: .." for information.
void print_note(std::string_view text);
// "veldt: warning: .." for a problem that does not end the work.
void print_warning(std::string_view text);

}  // namespace veldt::cli
