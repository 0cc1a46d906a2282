// Patterns by PCRE2, without its compiler to machine code.
#include "veldt/io/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "veldt/core/error.h"

namespace veldt::io {

namespace {

constexpr std::size_t kMaxPattern = std::size_t{64} << 10;
constexpr std::uint32_t kMaxSteps = 2'000'000, kMaxHeap = 64 << 10;  // KiB

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

}  // namespace

struct Pattern::Code {
  pcre2_code* held = nullptr;
  ~Code() { pcre2_code_free(held); }
};

Pattern::Pattern(std::string text) : text_(std::move(text)) {
  const std::string what = "cannot use the pattern " + quoted_pattern(text_);
  if (text_.size() > kMaxPattern)
    throw UsageError(what, str("it has ", text_.size(), " bytes, more than 64 KiB"), "write it shorter");
  int error = 0;
  PCRE2_SIZE at = 0;
  const auto code = std::make_shared<Code>();
  code->held =
      pcre2_compile(units(text_), text_.size(), PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr);
  if (code->held == nullptr)
    throw UsageError(what, str("it is no regular expression: ", message_for(error), ", at byte ", at),
                     "put a backslash before . ( ) [ ] { } + * ? ^ $ | that stand for themselves");
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

std::optional<std::string> Pattern::replaced(std::string_view text, std::string_view by) const {
  const Match match(code_->held);
  std::string replacement(by);
  for (std::size_t at = replacement.find("$&"); at != std::string::npos; at = replacement.find("$&", at + 4))
    replacement.replace(at, 2, "${0}");
  std::string out(text.size() + 256, '\0');
  for (int attempt = 0;; ++attempt) {
    PCRE2_SIZE size = out.size();
    const int result = pcre2_substitute(
        code_->held, units(text), text.size(), 0,
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

}  // namespace veldt::io
