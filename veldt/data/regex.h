// Regular expressions over UTF-8, for what tokenizer files hold.
// Tests: tests/data/regex_test.cpp
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "veldt/core/function_ref.h"
#include "veldt/io/pattern.h"

namespace veldt::data {

// An expression of Oniguruma's syntax, in which Hugging Face's files are, as far as PCRE2 has the same. Case,
// \w, \s, \d and \b are Unicode's, ^ and $ match at lines.
class Regex {
 public:
  // Throws ConfigError naming the pattern, for one that is wrong, beyond 64 KiB, or that the two syntaxes
  // take differently.
  explicit Regex(const std::string& pattern);

  // As io::Pattern's. A byte that is no UTF-8 ends the text for the expression, which begins again after it.
  void for_each_match(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> found) const;

 private:
  io::Pattern pattern_;
};

}  // namespace veldt::data
