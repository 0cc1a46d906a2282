// What a program wrote to a terminal, taken apart as a terminal would.
#pragma once

#include <string>
#include <string_view>

namespace veldt::test {

// Text, and what is left of control sequences at its end.
struct TerminalText {
  std::string printed;       // without any sequence
  bool is_whole = true;      // it does not end within a sequence or a string
  bool is_plain = true;      // colours are reset
  bool shows_cursor = true;  // and is not hidden
  std::string unknown;       // sequences that Veldt does not mean to write
  std::string strings;       // the beginnings of strings: "G" of kitty, "]1337" of iTerm2, "P" of sixels
};

inline TerminalText read_terminal(std::string_view text) {
  TerminalText t;
  std::size_t i = 0;
  while (i < text.size()) {
    if (text[i] != '\x1b') {
      t.printed += text[i++];
      continue;
    }
    if (++i == text.size()) return t.is_whole = false, t;
    const char kind = text[i++];
    if (kind == '[') {
      const std::size_t end = text.find_first_of("@ABCDEFGHIJKLMNOPQRSTUVWXYZ`abcdefghijklmnopqrstuvwxyz", i);
      if (end == std::string_view::npos) return t.is_whole = false, t;
      const std::string parameters(text.substr(i, end - i));
      i = end + 1;
      if (text[end] == 'm')
        t.is_plain = parameters == "0" || parameters.empty();
      else if (parameters == "?25" && (text[end] == 'l' || text[end] == 'h'))
        t.shows_cursor = text[end] == 'h';
      else if (text[end] != 'A' && text[end] != 'K' && text[end] != 'J')
        t.unknown += "[" + parameters + text[end] + " ";
    } else if (kind == '_' || kind == ']' || kind == 'P') {
      const std::size_t end = text.find(kind == ']' ? "\a" : "\x1b\\", i);
      t.strings += kind + std::string(text.substr(i, 5)) + " ";
      if (end == std::string_view::npos) return t.is_whole = false, t;
      i = end + (kind == ']' ? 1 : 2);
    } else if (kind != '7' && kind != '8' && kind != '\\') {
      t.unknown += std::string("ESC ") + kind + " ";
    }
  }
  return t;
}

}  // namespace veldt::test
