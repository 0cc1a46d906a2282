// What tokenizer files' expressions have besides io's patterns.
#include "veldt/data/regex.h"

#include <cctype>

#include "veldt/core/error.h"
#include "veldt/data/unicode.h"

namespace veldt::data {
namespace {

// What Oniguruma reads in another way: \h is a hexadecimal digit there, && an intersection, (?m a dot that
// matches line ends, {,2} a repetition.
const char* other_meaning(std::string_view pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    const char next = pattern[i + 1];
    if (pattern[i] == '\\') {
      if (next == 'h' || next == 'H' || next == 'K') return "it has \\h or \\K";
      ++i;
    } else if (pattern[i] == '&' && next == '&') {
      return "it has &&";
    } else if (pattern[i] == '{' && next == ',') {
      return "it has {,";
    } else if (pattern[i] == '(' && next == '*') {
      return "it has (*";
    } else if (pattern[i] == '(' && next == '?') {
      for (std::size_t j = i + 2;
           j < pattern.size() &&
           (std::islower(static_cast<unsigned char>(pattern[j])) != 0 || pattern[j] == '-');
           ++j)
        if (pattern[j] == 'm') return "it has (?m";
    }
  }
  return nullptr;
}

const std::string& readable(const std::string& pattern) {
  if (const char* why = other_meaning(pattern))
    throw ConfigError("cannot use the regular expression " + pattern.substr(0, 100),
                      str(why, ", which PCRE2 and Oniguruma read differently"),
                      "write it in the syntax that both share");
  return pattern;
}

}  // namespace

Regex::Regex(const std::string& pattern) : pattern_(readable(pattern), io::Pattern::Syntax::unicode) {}

void Regex::for_each_match(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> found) const {
  std::size_t begin = 0;
  const auto search = [&](std::size_t end) {
    if (begin < end)
      pattern_.for_each_match(text.substr(begin, end - begin),
                              [&](std::size_t from, std::size_t to) { found(begin + from, begin + to); });
  };
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    if (c.code >= kInvalid) {
      search(at);
      begin = at + 1;
    }
    at += c.bytes;
  }
  search(text.size());
}

}  // namespace veldt::data
