// Text as numbers, for networks that read and write it.
// Tests: tests/data/char_tokenizer_test.cpp, tests/fuzz/text.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::data {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // The token of each number 0..size()-1, as the tokenizer's file writes it; "" where a number has none.
  virtual const std::vector<std::string>& vocabulary() const = 0;
  std::int64_t size() const { return static_cast<std::int64_t>(vocabulary().size()); }
  // i64 [tokens]. Throws ConfigError for text that has no numbers.
  virtual Tensor encode(std::string_view text) const = 0;
  // The text of integers of any shape, row by row. Throws ConfigError for a number without a token.
  virtual std::string decode(const Tensor& tokens) const;
};

// A number for each character (Unicode code point) that a text has, in the order of their code points.
class CharTokenizer final : public Tokenizer {
 public:
  // Throws ConfigError for a text that is empty or not UTF-8.
  explicit CharTokenizer(std::string_view text);
  // Makes one from a saved vocabulary: one character each, as vocabulary() returns them.
  static CharTokenizer of(const std::vector<std::string>& vocabulary);

  const std::vector<std::string>& vocabulary() const override { return characters_; }
  // Throws ConfigError naming the first character that has no number.
  Tensor encode(std::string_view text) const override;

 private:
  CharTokenizer() = default;
  void number_them();

  std::vector<std::string> characters_;
  std::map<std::string, std::int64_t, std::less<>> numbers_;
};

}  // namespace veldt::data
