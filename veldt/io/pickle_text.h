// Numbers and texts as pickles spell them. Only for pickle.cpp.
// Tests: tests/io/pickle_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace veldt::io {

// An integer of Python's, which may have any length: small, or its bytes (PickleKind::large).
struct PickleInteger {
  std::optional<std::int64_t> small = {};
  std::string bytes = {};
};

// Two's complement, lowest byte first; no bytes are 0.
PickleInteger pickle_long(std::string_view bytes);

// Nothing if the text is no number.
std::optional<PickleInteger> pickle_decimal(std::string_view text);
std::optional<double> pickle_real(const std::string& text);

// Python's repr of a string of bytes, 'a\n', with its quotes; nothing if it is damaged.
std::optional<std::string> pickle_quoted(std::string_view text);
// Text in Latin-1 with \uXXXX and \UXXXXXXXX, as UTF-8; nothing if it is damaged.
std::optional<std::string> pickle_unicode(std::string_view text);

// A character as UTF-8; U+FFFD for what is none.
void append_utf8(std::string& text, std::uint32_t character);

}  // namespace veldt::io
