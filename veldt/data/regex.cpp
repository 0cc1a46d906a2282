// The expressions of regex.h by PCRE2, without its compiler to machine code.
#include "veldt/data/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "veldt/core/error.h"
#include "veldt/data/unicode.h"

namespace veldt::data {
namespace {

constexpr std::size_t kMaxPattern = std::size_t{64} << 10;
// Steps at one place of the text: some for each character of it, which a run of white space may take.
constexpr std::size_t kSteps = 10'000, kStepsForByte = 16;
constexpr std::uint32_t kMaxHeap = 64 << 10;  // KiB

template <auto kFree> struct Freed {
  template <class T> void operator()(T* held) const { kFree(held); }
};
using MatchData = std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>>;

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 160> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

std::string shown(const std::string& pattern) {
  return pattern.size() > 100 ? pattern.substr(0, 100) + ".." : pattern;
}

// What Oniguruma reads in another way: \h is a hexadecimal digit there, && an intersection, (?m a dot that
// matches line ends.
const char* other_meaning(std::string_view pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    const char next = pattern[i + 1];
    if (pattern[i] == '\\') {
      if (next == 'h' || next == 'H' || next == 'K') return "it has \\h or \\K";
      ++i;
    } else if (pattern[i] == '&' && next == '&') {
      return "it has &&";
    } else if (pattern[i] == '(' && next == '*') {
      return "it has (*";
    } else if (pattern[i] == '(' && next == '?') {
      for (std::size_t j = i + 2; j < pattern.size() && (std::islower(pattern[j]) || pattern[j] == '-'); ++j)
        if (pattern[j] == 'm') return "it has (?m";
    }
  }
  return nullptr;
}

}  // namespace

struct Regex::Code {
  pcre2_code* held = nullptr;
  ~Code() { pcre2_code_free(held); }
};

Regex::Regex(std::string pattern) : pattern_(std::move(pattern)) {
  const auto refuse = [&](const std::string& why) {
    throw ConfigError(str("cannot use the regular expression ", shown(pattern_)), why,
                      "write it in the syntax that PCRE2 and Oniguruma share");
  };
  if (pattern_.size() > kMaxPattern) refuse(str("it has ", pattern_.size(), " bytes, more than 64 KiB"));
  if (const char* why = other_meaning(pattern_)) refuse(str(why, ", which is not the same for both"));
  const auto code = std::make_shared<Code>();
  int error = 0;
  PCRE2_SIZE at = 0;
  const auto flags = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  code->held = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern_.data()), pattern_.size(), flags, &error,
                             &at, nullptr);
  if (code->held == nullptr) refuse(str(message_of(error), " (at byte ", at, ')'));
  code_ = code;
}

void Regex::search(std::string_view text, std::size_t offset,
                   FunctionRef<void(std::size_t, std::size_t)> found) const {
  const MatchData match(pcre2_match_data_create(1, nullptr));
  const MatchContext context(pcre2_match_context_create(nullptr));
  if (!match || !context)
    throw OutOfMemory("cannot search a text", "there is no memory for a match", "close other programs");
  pcre2_set_match_limit(context.get(), static_cast<std::uint32_t>(std::min<std::size_t>(
                                           kSteps + kStepsForByte * text.size(), UINT32_MAX)));
  pcre2_set_heap_limit(context.get(), kMaxHeap);
  for (std::size_t at = 0; at < text.size();) {
    const int result = pcre2_match(code_->held, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                   PCRE2_NO_UTF_CHECK, match.get(), context.get());
    if (result == PCRE2_ERROR_NOMATCH) return;
    if (result < 0)
      throw ConfigError(
          str("the regular expression ", shown(pattern_), " gives up on a text of ", text.size(), " bytes"),
          message_of(result), "shorten the text, or write the expression with fewer repetitions");
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match.get());
    const std::size_t begin = range[0], end = range[1];
    if (end > begin && begin >= at) {
      found(offset + begin, offset + end);
      at = end;
    } else {  // nothing, or, by a look behind, before its own beginning
      const std::size_t from = std::max(at, end);
      at = from < text.size() ? from + character_at(text, from).bytes : text.size();
    }
  }
}

void Regex::for_each_match(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> found) const {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    if (c.code >= kInvalid) {
      if (at > begin) search(text.substr(begin, at - begin), begin, found);
      begin = at + 1;
    }
    at += c.bytes;
  }
  if (begin < text.size()) search(text.substr(begin), begin, found);
}

}  // namespace veldt::data
