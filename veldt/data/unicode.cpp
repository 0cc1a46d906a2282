// Unicode's tables are those of utf8proc.
#include "veldt/data/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

namespace veldt::data {
namespace {

utf8proc_int32_t point(char32_t code) { return static_cast<utf8proc_int32_t>(code); }

utf8proc_category_t category(char32_t code) {
  return code < kInvalid ? utf8proc_category(point(code)) : UTF8PROC_CATEGORY_CN;
}

int combining_class(char32_t code) {
  return code < kInvalid ? utf8proc_get_property(point(code))->combining_class : 0;
}

bool is_between(utf8proc_category_t c, utf8proc_category_t first, utf8proc_category_t last) {
  return c >= first && c <= last;
}

// The character that the two become, or 0.
char32_t composed(char32_t first, char32_t second) {
  if (first >= kInvalid || second >= kInvalid || second < 0x300) return 0;
  std::array<utf8proc_int32_t, 3> pair = {point(first), point(second), 0};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  return utf8proc_normalize_utf32(pair.data(), 2, options) == 1 ? static_cast<char32_t>(pair[0]) : 0;
}

using Sourced = std::vector<std::pair<char32_t, std::size_t>>;

void decompose(char32_t code, std::size_t from, bool compatible, Sourced& into) {
  if (code < (compatible ? 0xA0u : 0xC0u) || code >= kInvalid) {
    into.push_back({code, from});
    return;
  }
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (compatible ? UTF8PROC_COMPAT : 0));
  std::array<utf8proc_int32_t, 32> parts;  // the longest, U+FDFA's, has 18
  int last_class = 0;
  const auto count = std::min<utf8proc_ssize_t>(
      utf8proc_decompose_char(point(code), parts.data(), parts.size(), options, &last_class), parts.size());
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    into.push_back({static_cast<char32_t>(parts[static_cast<std::size_t>(i)]), from});
  if (count < 1) into.push_back({code, from});
}

// Marks after the same letter in the order of their classes. Their sources stay in the order of the text, so
// that a range of characters comes from a range.
void put_in_order(Sourced& characters) {
  for (auto at = characters.begin(); at != characters.end();) {
    const auto is_starter = [](const auto& c) { return combining_class(c.first) == 0; };
    const auto first = std::find_if_not(at, characters.end(), is_starter);
    at = std::find_if(first, characters.end(), is_starter);
    if (at - first < 2) continue;
    std::vector<char32_t> marks;
    for (auto mark = first; mark != at; ++mark) marks.push_back(mark->first);
    std::stable_sort(marks.begin(), marks.end(),
                     [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    for (std::size_t i = 0; i < marks.size(); ++i) first[static_cast<std::ptrdiff_t>(i)].first = marks[i];
  }
}

// Section 3.11 of the standard: each mark joins the last starter, unless one of its class or a higher one
// stands between.
void compose(Sourced& characters) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t kept = 0, starter = kNone;
  int highest = -1;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const int order = combining_class(characters[i].first);
    if (starter != kNone && order > highest)
      if (const char32_t both = composed(characters[starter].first, characters[i].first); both != 0) {
        characters[starter].first = both;
        // What stands between comes from later on by one: places follow the text.
        for (std::size_t k = starter + 1; k < kept; ++k)
          characters[k].second = k + 1 < kept ? characters[k + 1].second : characters[i].second;
        continue;
      }
    if (order == 0) {
      starter = kept;
      highest = -1;
    } else {
      highest = std::max(highest, order);
    }
    characters[kept++] = characters[i];
  }
  characters.resize(kept);
}

}  // namespace

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return {byte, 1};
  utf8proc_int32_t code = -1;
  const auto bytes =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                       static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size() - at, 4)), &code);
  if (bytes < 1) return {kInvalid + byte, 1};
  return {static_cast<char32_t>(code), static_cast<std::size_t>(bytes)};
}

void append(std::string& text, char32_t code) {
  if (code < 0x80 || code >= kInvalid) {
    text += static_cast<char>(code < 0x80 ? code : code - kInvalid);
    return;
  }
  std::array<utf8proc_uint8_t, 4> bytes;
  const auto count = utf8proc_encode_char(point(code), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(count));
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += character_at(text, at).bytes;
  return count;
}

bool is_white_space(char32_t code) {
  return code == ' ' || (code >= '\t' && code <= '\r') || code == 0x85 ||
         (code >= 0xA0 && code < kInvalid &&
          is_between(category(code), UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP));
}

bool is_punctuation(char32_t code) {
  if (code < 0x80)
    return code > ' ' && code < 0x7F && !(code >= '0' && code <= '9') &&
           !((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
  return is_between(category(code), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool is_numeric(char32_t code) {
  return is_between(category(code), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool is_word(char32_t code) {
  const utf8proc_category_t c = category(code);
  if (is_between(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) || c == UTF8PROC_CATEGORY_PC) return true;
  // Letters in circles and squares, which are alphabetic symbols, and the joiners.
  return (code >= 0x24B6 && code <= 0x24E9) || (code >= 0x1F130 && code <= 0x1F149) ||
         (code >= 0x1F150 && code <= 0x1F169) || (code >= 0x1F170 && code <= 0x1F189) || code == 0x200C ||
         code == 0x200D;
}

bool is_control(char32_t code) {
  const utf8proc_category_t c = category(code);
  return c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_CO;
}

bool is_nonspacing_mark(char32_t code) { return category(code) == UTF8PROC_CATEGORY_MN; }

bool is_mark(char32_t code) { return is_between(category(code), UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME); }

char32_t lower(char32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code + 0x20 : code;
  return code < kInvalid ? static_cast<char32_t>(utf8proc_tolower(point(code))) : code;
}

Sourced normalized(const std::vector<char32_t>& codes, NormalForm form) {
  const bool composes = form == NormalForm::nfc || form == NormalForm::nfkc;
  const bool compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
  const char32_t unchanged = compatible ? 0xA0 : composes ? 0x300 : 0xC0;  // all below are as they are
  Sourced found;
  found.reserve(codes.size());
  if (std::all_of(codes.begin(), codes.end(), [&](char32_t c) { return c < unchanged; })) {
    for (std::size_t i = 0; i < codes.size(); ++i) found.push_back({codes[i], i});
    return found;
  }
  for (std::size_t i = 0; i < codes.size(); ++i) decompose(codes[i], i, compatible, found);
  put_in_order(found);
  if (composes) compose(found);
  return found;
}

std::size_t grapheme_bytes(std::string_view text, std::size_t at) {
  Character last = character_at(text, at);
  std::size_t end = at + last.bytes;
  utf8proc_int32_t state = 0;
  while (end < text.size()) {
    const Character next = character_at(text, end);
    if (last.code >= kInvalid || next.code >= kInvalid ||
        utf8proc_grapheme_break_stateful(point(last.code), point(next.code), &state))
      break;
    end += next.bytes;
    last = next;
  }
  return end - at;
}

}  // namespace veldt::data
