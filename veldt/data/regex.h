// Regular expressions over UTF-8, for what tokenizer files hold.
// Tests: tests/data/regex_test.cpp
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "veldt/core/function_ref.h"

namespace veldt::data {

// An expression of Oniguruma's syntax, in which Hugging Face's files are, as far as PCRE2 has the same. Case,
// \w, \s, \d and \b are Unicode's, ^ and $ match at lines.
class Regex {
 public:
  // Throws ConfigError naming the pattern, for one that is wrong, beyond 64 KiB, or that the two syntaxes
  // take differently.
  explicit Regex(std::string pattern);

  // Calls found(begin, end), in bytes, for each match from left to right; they do not overlap, and empty ones
  // are left out. A byte that is no UTF-8 ends the text for the expression, which begins again after it.
  // Throws ConfigError if a match takes more steps than a pattern that is not hostile needs, which depends on
  // the text's length alone.
  void for_each_match(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> found) const;

  const std::string& pattern() const { return pattern_; }

 private:
  struct Code;
  void search(std::string_view text, std::size_t offset,
              FunctionRef<void(std::size_t, std::size_t)> found) const;

  std::string pattern_;
  std::shared_ptr<const Code> code_;
};

}  // namespace veldt::data
