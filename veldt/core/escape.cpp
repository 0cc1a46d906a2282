// Replaces characters that control a terminal.
#include "veldt/core/escape.h"

namespace veldt {
namespace {

bool is_between(char c, int least, int most) {
  return static_cast<unsigned char>(c) >= least && static_cast<unsigned char>(c) <= most;
}

// The length in bytes of the first character of `text`; 0 if it is not UTF-8 (RFC 3629, table of section 4),
// or is a control character. U+0080 to U+009F are control characters too: U+009B acts like ESC [.
std::size_t printable_bytes(std::string_view text) {
  if (is_between(text[0], 0x20, 0x7e)) return 1;
  std::size_t bytes = 0;
  int least = 0x80, most = 0xbf;  // of the second byte
  if (is_between(text[0], 0xc2, 0xdf)) bytes = 2, least = text[0] == '\xc2' ? 0xa0 : 0x80;
  if (is_between(text[0], 0xe0, 0xef)) bytes = 3;
  if (is_between(text[0], 0xf0, 0xf4)) bytes = 4;
  if (text[0] == '\xe0') least = 0xa0;
  if (text[0] == '\xed') most = 0x9f;
  if (text[0] == '\xf0') least = 0x90;
  if (text[0] == '\xf4') most = 0x8f;
  if (bytes == 0 || bytes > text.size() || !is_between(text[1], least, most)) return 0;
  for (std::size_t i = 2; i < bytes; ++i)
    if (!is_between(text[i], 0x80, 0xbf)) return 0;
  return bytes;
}

}  // namespace

std::string escape_controls(std::string_view text, std::string_view except) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = except.find(text[0]) != except.npos ? 1 : printable_bytes(text);
    out += text.substr(0, bytes);
    if (bytes == 0) {
      const auto byte = static_cast<unsigned char>(text[0]);
      out += "\\x";
      out += kDigits[byte / 16];
      out += kDigits[byte % 16];
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

}  // namespace veldt
