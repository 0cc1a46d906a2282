// Patterns by PCRE2, without its compiler to machine code.
#include "veldt/io/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "veldt/core/error.h"

namespace veldt::io {

namespace {

constexpr std::size_t kMaxPattern = std::size_t{64} << 10, kMaxName = 4096;
constexpr std::uint32_t kMaxSteps = 2'000'000, kMaxHeap = 64 << 10;  // KiB
// Of a search: the steps that each beginning of a match may take, and how far each of them may look; and what
// those beginnings that want more may cost together.
constexpr std::uint32_t kFewSteps = 64;
constexpr std::size_t kReach = 64, kMoreCost = 4'000'000, kMoreForByte = 256;

template <auto kFree> struct Freed {
  template <class T> void operator()(T* held) const { kFree(held); }
};

struct Match {
  std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> data;
  std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>> context;

  explicit Match(const pcre2_code* code)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)),
        context(pcre2_match_context_create(nullptr)) {
    if (!data || !context)
      throw OutOfMemory("cannot search a text", "there is no memory for a match", "close other programs");
    pcre2_set_match_limit(context.get(), kMaxSteps);
    pcre2_set_heap_limit(context.get(), kMaxHeap);
  }
};

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string message_for(int error) {
  std::array<PCRE2_UCHAR, 160> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

std::string quoted_pattern(const std::string& text) {
  return '\'' + (text.size() > 100 ? text.substr(0, 100) + ".." : text) + '\'';
}

// Whether the text begins with a repetition's {n}, {n,} or {n,m}.
bool begins_with_counts(std::string_view text) {
  std::size_t at = 1;
  const auto digits = [&] {
    const std::size_t before = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at > before;
  };
  if (!digits()) return false;
  if (at < text.size() && text[at] == ',') {
    ++at;
    digits();
  }
  return at < text.size() && text[at] == '}';
}

// With a backslash before each brace that begins no repetition: from 10.43 on PCRE2 takes {,2} and { 1, 2 }
// for one, and before that it takes them for themselves, as RE2 does.
std::string with_plain_braces(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '{' && !begins_with_counts(pattern.substr(i))) out += '\\';
    out += pattern[i];
    if (pattern[i] != '\\' || ++i == pattern.size()) continue;
    out += pattern[i];
    if (pattern[i] == 'c' && i + 1 < pattern.size()) {  // a control character: \c{ is ';'
      out += pattern[++i];
    } else if (pattern[i] == 'Q') {
      const std::size_t end = std::min(pattern.find("\\E", i), pattern.size());
      out += pattern.substr(i + 1, end - i - 1);
      i = end - 1;
    } else if (i + 1 < pattern.size() && pattern[i + 1] == '{' &&
               std::string_view("xopPgkN").find(pattern[i]) != std::string_view::npos) {
      out += pattern[++i];
    }
  }
  return out;
}

// Where in the pattern is what stands at `at` in with_plain_braces() of it.
std::size_t place_in(std::string_view pattern, std::string_view plain, std::size_t at) {
  std::size_t place = 0;
  for (std::size_t i = 0; i < at; ++i)
    if (place < pattern.size() && plain[i] == pattern[place]) ++place;
  return place;
}

// The largest count of a repetition, as in a{3,40}: so far may an item look and fail where it began.
std::size_t largest_count(std::string_view pattern) {
  std::size_t largest = 1, count = 0;
  bool in_braces = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const bool digit = c >= '0' && c <= '9';
    // \x{..}, \p{..} and their like are no repetitions; \d{..} is one.
    if (c == '{')
      in_braces = i < 2 || pattern[i - 2] != '\\' ||
                  std::string_view("xopPgkNu").find(pattern[i - 1]) == std::string_view::npos;
    else if (!digit && c != ',')
      in_braces = false;
    count =
        in_braces && digit ? std::min<std::size_t>(10 * count + static_cast<std::size_t>(c - '0'), 65535) : 0;
    largest = std::max(largest, count);
  }
  return largest;
}

// What a search has taken, by PCRE2's callouts: one comes before each item of the pattern.
struct Cost {
  std::size_t left, blind, at = 0;

  static int on_item(pcre2_callout_block* item, void* data) {
    Cost& cost = *static_cast<Cost*>(data);
    const std::size_t now = item->current_position, moved = now > cost.at ? now - cost.at : cost.at - now;
    // A repetition of one character looks at some in the time of a callout.
    const std::size_t paid = 1 + (moved + std::min(cost.blind, item->subject_length - now)) / 8;
    if (paid > cost.left) return PCRE2_ERROR_CALLOUT;
    cost.left -= paid;
    cost.at = now;
    return 0;
  }
};

}  // namespace

struct Pattern::Code {
  pcre2_code* held = nullptr;
  // For a part of a text that more follows: there ^ matches behind a line's end, also where the part ends.
  pcre2_code* part = nullptr;
  // The same with callouts.
  pcre2_code *counted = nullptr, *counted_part = nullptr;
  std::size_t blind = 1;  // how many characters an item may look at without moving on
  ~Code() {
    for (pcre2_code* code : {held, part, counted, counted_part}) pcre2_code_free(code);
  }
};

Pattern::Pattern(std::string text, Syntax syntax) : text_(std::move(text)) {
  const std::string what = "cannot use the pattern " + quoted_pattern(text_);
  if (text_.size() > kMaxPattern)
    throw UsageError(what, str("it has ", text_.size(), " bytes, more than 64 KiB"), "write it shorter");
  int error = 0;
  PCRE2_SIZE at = 0;
  const std::string plain = with_plain_braces(text_);
  const auto code = std::make_shared<Code>();
  std::uint32_t flags = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;
  // PCRE2 10.42 skips beginnings that match: (?=b)a*b in "ab".
  if (syntax == Syntax::unicode) flags |= PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_START_OPTIMIZE;
  for (const auto& [into, more] : {std::pair{&code->held, 0U},
                                   {&code->part, PCRE2_ALT_CIRCUMFLEX},
                                   {&code->counted, PCRE2_AUTO_CALLOUT},
                                   {&code->counted_part, PCRE2_ALT_CIRCUMFLEX | PCRE2_AUTO_CALLOUT}}) {
    *into = pcre2_compile(units(plain), plain.size(), flags | more, &error, &at, nullptr);
    if (*into == nullptr)
      throw UsageError(
          what,
          str("it is no regular expression: ", message_for(error), ", at byte ", place_in(text_, plain, at)),
          "put a backslash before . ( ) [ ] { } + * ? ^ $ | that stand for themselves");
  }
  std::uint32_t references = 0;
  pcre2_pattern_info(code->held, PCRE2_INFO_BACKREFMAX, &references);
  code->blind = references > 0 ? SIZE_MAX : largest_count(text_);
  code_ = code;
}

void Pattern::refuse(int error) const {
  throw UsageError(str("the pattern ", quoted_pattern(text_), " cannot be applied"), message_for(error),
                   "write it with fewer repetitions; groups of a replacement are $1, $2 ..");
}

bool Pattern::matches(std::string_view text) const {
  const Match match(code_->held);
  const int result = pcre2_match(code_->held, units(text), text.size(), 0, PCRE2_ANCHORED | PCRE2_ENDANCHORED,
                                 match.data.get(), match.context.get());
  if (result >= 0) return true;
  // Codes of bytes that are no UTF-8 lie below this one.
  if (result == PCRE2_ERROR_NOMATCH || (result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21))
    return false;
  refuse(result);
}

std::optional<std::string> Pattern::replaced(std::string_view name, std::string_view by) const {
  const Match match(code_->held);
  // PCRE2 counts anew at each beginning of a match, of which there are as many as bytes.
  if (name.size() > kMaxName)
    throw UsageError(str("a name has ", name.size(), " bytes"),
                     str("patterns are applied to names of up to ", kMaxName),
                     "leave it out, or rename it before");
  pcre2_set_match_limit(match.context.get(), kMaxSteps / static_cast<std::uint32_t>(name.size() / 64 + 1));
  std::string replacement(by);
  for (std::size_t at = replacement.find("$&"); at != std::string::npos; at = replacement.find("$&", at + 4))
    replacement.replace(at, 2, "${0}");
  std::string out(name.size() + 256, '\0');
  for (int attempt = 0;; ++attempt) {
    PCRE2_SIZE size = out.size();
    const int result = pcre2_substitute(
        code_->held, units(name), name.size(), 0,
        PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_UNSET_EMPTY | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH,
        match.data.get(), match.context.get(), units(replacement), replacement.size(),
        reinterpret_cast<PCRE2_UCHAR*>(out.data()), &size);
    if (result == PCRE2_ERROR_NOMEMORY && attempt == 0) {
      out.resize(size);  // which it says then
      continue;
    }
    if (result == 0) return {};
    if (result < 0) refuse(result);
    out.resize(size);
    return out;
  }
}

// PCRE2 counts steps anew at each beginning of a match that it tries, and does not count how far a step's
// repetition looks ahead. So few steps are allowed at first, and a small part of the text is all that there
// is. Where that is not enough, one beginning is tried with its cost counted, which comes from what the whole
// text may take, and with more of the text if it asks for that.
void Pattern::for_each_match(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> found) const {
  const Match match(code_->held);
  const PCRE2_SIZE* const range = pcre2_get_ovector_pointer(match.data.get());
  const std::size_t size = text.size();
  const auto whole_character = [&](std::size_t at) {
    while (at < size && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80) ++at;
    return std::min(at, size);
  };
  Cost cost{.left = kMoreCost + kMoreForByte * size, .blind = code_->blind};
  pcre2_set_callout(match.context.get(), Cost::on_item, &cost);
  std::size_t width = kReach, reach = kReach;
  bool counted = false;
  for (std::size_t at = 0; at < size;) {
    const std::size_t end = whole_character(at + std::min(reach, size - at));
    const std::size_t next = std::min(whole_character(at + std::min(width, size - at)), end);
    pcre2_set_match_limit(match.context.get(), counted ? UINT32_MAX : kFewSteps);
    pcre2_set_offset_limit(match.context.get(), next - 1);  // the last beginning that is tried
    const bool whole = end == size;
    const pcre2_code* const code =
        counted ? (whole ? code_->counted : code_->counted_part) : (whole ? code_->held : code_->part);
    cost.at = at;
    const int result =
        pcre2_match(code, units(text), end, at, PCRE2_NO_UTF_CHECK | (whole ? 0 : PCRE2_PARTIAL_HARD),
                    match.data.get(), match.context.get());
    if (result == PCRE2_ERROR_CALLOUT)
      throw UsageError(str("the pattern ", quoted_pattern(text_), " gives up on a text of ", size, " bytes"),
                       "it takes too many steps", "shorten the text, or write it with fewer repetitions");
    if (result == PCRE2_ERROR_PARTIAL && range[0] > at) {  // it depends on what comes later
      at = range[0];
      continue;
    }
    if (result == PCRE2_ERROR_PARTIAL || (result == PCRE2_ERROR_MATCHLIMIT && width == 1 && !counted)) {
      if (result == PCRE2_ERROR_PARTIAL) reach *= 4;
      width = 1;
      counted = true;
      continue;
    }
    if (result == PCRE2_ERROR_MATCHLIMIT && width > 1) {
      width = width < 32 ? 1 : width / 8;
      continue;
    }
    if (result < 0 && result != PCRE2_ERROR_NOMATCH) refuse(result);
    width = std::min(2 * width, kReach);
    reach = kReach;
    counted = false;
    if (result == PCRE2_ERROR_NOMATCH) {
      at = next;
    } else if (range[1] > range[0] && range[0] >= at) {
      found(range[0], range[1]);
      at = range[1];
    } else {  // nothing, or, by a look behind, before its own beginning
      at = whole_character(std::max<std::size_t>(at, range[1]) + 1);
    }
  }
}

}  // namespace veldt::io
