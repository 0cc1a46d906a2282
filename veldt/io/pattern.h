// Regular expressions that users and files give, over UTF-8. A pattern that takes very many steps is given
// up.
// Tests: tests/io/pattern_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "veldt/core/function_ref.h"

namespace veldt::io {

// An expression in the syntax of Perl, as PCRE2 has it, of up to 64 KiB.
class Pattern {
 public:
  // unicode: case, \w, \s, \d and \b are Unicode's, and ^ and $ match at lines.
  enum class Syntax : std::uint8_t { plain, unicode };
  // Throws UsageError saying where it is wrong.
  explicit Pattern(std::string text, Syntax syntax = Syntax::plain);

  // Whether all of the text matches; false for what is not UTF-8. Throws UsageError if it is given up.
  bool matches(std::string_view text) const;
  // A name with `by` in place of each match: $1 is what the first group matched, $& all of it. Nothing if
  // there is no match. Throws UsageError if it is given up, for a name beyond 4096 bytes, and for a `by` that
  // names a group which is not there.
  std::optional<std::string> replaced(std::string_view name, std::string_view by) const;
  // Calls found(begin, end), in bytes, for each match of a text in UTF-8 from left to right; they do not
  // overlap, and empty ones are left out. Throws UsageError if all of it takes more steps, or
  // looks at more characters, than some for each byte: a call takes some seconds a megabyte at most.
  void for_each_match(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> found) const;

 private:
  struct Code;
  [[noreturn]] void refuse(int error) const;

  std::string text_;
  std::shared_ptr<const Code> code_;
};

}  // namespace veldt::io
