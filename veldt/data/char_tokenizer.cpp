// The character half of tokenizer.h.
#include <set>

#include "veldt/core/error.h"
#include "veldt/data/tokenizer.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

// The length in bytes of the character at `at`; 0 if it is not valid UTF-8 (Unicode 15, table 3-7).
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t count = first >= 0xC2 && first <= 0xDF   ? 2
                            : first >= 0xE0 && first <= 0xEF ? 3
                            : first >= 0xF0 && first <= 0xF4 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < count; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  const bool outside = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) ||
                       (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F);
  return outside ? 0 : count;
}

// Calls each(character) in order.
template <class Each> void for_each_character(std::string_view text, const Each& each) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    if (bytes == 0)
      throw ConfigError("the text is not UTF-8", str("byte ", at, " begins no character"),
                        "convert the text to UTF-8");
    each(text.substr(at, bytes));
    at += bytes;
  }
}

}  // namespace

CharTokenizer::CharTokenizer(std::string_view text) {
  std::set<std::string> seen;  // UTF-8 sorts as its code points do
  for_each_character(text, [&](std::string_view c) { seen.emplace(c); });
  if (seen.empty())
    throw ConfigError("a vocabulary needs characters", "the text is empty", "give the text to be learned");
  characters_.assign(seen.begin(), seen.end());
  number_them();
}

CharTokenizer CharTokenizer::of(const std::vector<std::string>& vocabulary) {
  CharTokenizer tokenizer;
  tokenizer.characters_ = vocabulary;
  tokenizer.number_them();
  for (const std::string& c : vocabulary)
    if (c.empty() || character_bytes(c, 0) != c.size())
      throw ConfigError(str("\"", c, "\" is not a character"), "a vocabulary has one character in each entry",
                        "give the result of vocabulary()");
  if (tokenizer.numbers_.size() != vocabulary.size() || vocabulary.empty())
    throw ConfigError("this is not a vocabulary", "it is empty, or has a character twice",
                      "give the result of vocabulary()");
  return tokenizer;
}

void CharTokenizer::number_them() {
  for (std::size_t i = 0; i < characters_.size(); ++i)
    numbers_[characters_[i]] = static_cast<std::int64_t>(i);
}

Tensor CharTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> numbers;
  numbers.reserve(text.size());
  for_each_character(text, [&](std::string_view c) {
    const auto at = numbers_.find(c);
    if (at == numbers_.end())
      throw ConfigError(str("the character \"", c, "\" has no number"),
                        str("the vocabulary has ", size(), " others"),
                        "make the tokenizer from all of the text");
    numbers.push_back(at->second);
  });
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, numbers);
}

}  // namespace veldt::data
