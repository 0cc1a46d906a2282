// Turns the decimals, quotes and escapes of pickles into values.
#include "veldt/io/pickle_text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace veldt::io {
namespace {

constexpr std::size_t kWideBytes = 16;  // PyTorch's magic number has ten

// The value of up to eight hexadecimal digits.
std::optional<std::uint32_t> from_hex(std::string_view digits) {
  std::uint32_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) return {};
  return value;
}

}  // namespace

PickleInteger pickle_long(std::string_view bytes) {
  const bool negative = !bytes.empty() && (bytes.back() & '\x80') != 0;
  const char fill = negative ? '\xff' : '\0';
  while (!bytes.empty() && bytes.back() == fill &&
         (bytes.size() == 1 ? !negative : ((bytes[bytes.size() - 2] & '\x80') != 0) == negative))
    bytes.remove_suffix(1);
  if (bytes.size() > kWideBytes) return {};
  std::string wide(bytes);
  wide.resize(kWideBytes, fill);
  if (bytes.size() > 8) return {.bytes = wide};
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(wide[static_cast<std::size_t>(i)]);
  return {.small = static_cast<std::int64_t>(value)};
}

std::optional<PickleInteger> pickle_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return {};
  while (text.size() > 1 && text.front() == '0') text.remove_prefix(1);
  if (text.size() > 38) return PickleInteger{};  // beyond 2^127
  std::array<unsigned, kWideBytes> bytes{};
  for (const char digit : text) {
    auto carry = static_cast<unsigned>(digit - '0');
    for (unsigned& byte : bytes) {
      carry += byte * 10;
      byte = carry & 255;
      carry >>= 8;
    }
  }
  std::string wide(kWideBytes, '\0');
  unsigned carry = 1;
  for (std::size_t i = 0; i < kWideBytes; ++i) {
    const unsigned byte = negative ? (bytes[i] ^ 255) + carry : bytes[i];
    carry = byte >> 8;
    wide[i] = static_cast<char>(byte & 255);
  }
  return pickle_long(wide);
}

std::optional<double> pickle_real(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);  // "inf" and "nan" too
  if (parsed.ec == std::errc::invalid_argument || parsed.ptr != end) return {};
  return value;
}

std::optional<std::string> pickle_quoted(std::string_view text) {
  if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"'))
    return {};
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return {};
    constexpr std::string_view kLetters = "nrtabfv0\\'\"", kMeanings("\n\r\t\a\b\f\v\0\\'\"", 11);
    if (text[i] == 'x') {
      const auto value = from_hex(text.substr(i + 1, 2));
      if (!value || text.size() - i < 3) return {};
      out += static_cast<char>(*value);
      i += 2;
    } else if (const std::size_t at = kLetters.find(text[i]); at != std::string_view::npos) {
      out += kMeanings[at];
    } else {
      return {};
    }
  }
  return out;
}

std::optional<std::string> pickle_unicode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digits = text[i] != '\\' || i + 1 == text.size() ? 0
                               : text[i + 1] == 'u'                    ? 4
                               : text[i + 1] == 'U'                    ? 8
                                                                       : 0;
    if (digits == 0) {
      append_utf8(out, static_cast<unsigned char>(text[i]));
      continue;
    }
    const auto value = from_hex(text.substr(i + 2, digits));
    if (!value || text.size() - i < 2 + digits) return {};
    append_utf8(out, *value);
    i += 1 + digits;
  }
  return out;
}

void append_utf8(std::string& text, std::uint32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto rest = [&](int shift) { put(0x80 | ((c >> shift) & 63)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    rest(6);
  } else {
    put(0xf0 | c >> 18);
    rest(12);
    rest(6);
  }
  rest(0);
}

}  // namespace veldt::io
