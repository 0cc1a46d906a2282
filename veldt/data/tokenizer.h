// Text as numbers, for networks that read and write it.
// Tests: tests/data/bpe_tokenizer_test.cpp, tests/data/char_tokenizer_test.cpp, tests/fuzz/text.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::data {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // The bytes of each number 0..size()-1; those of a single number need not be valid UTF-8.
  virtual const std::vector<std::string>& vocabulary() const = 0;
  std::int64_t size() const { return static_cast<std::int64_t>(vocabulary().size()); }
  // i64 [tokens]. Throws ConfigError for text that has no numbers.
  virtual Tensor encode(std::string_view text) const = 0;
  // The text of integers of any shape, row by row. Throws ConfigError for a number without a token.
  std::string decode(const Tensor& tokens) const;
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

// Byte pair encoding (Sennrich et al. 2016) over bytes (Radford et al. 2019): every text, and any bytes, can
// be encoded and decoded without loss. The text is split into words, and the most frequent pair of
// neighbouring tokens within words is merged, repeatedly.
//
// Words are GPT-2's of ASCII text: a contraction's end ('s 't 're 've 'm 'll 'd), letters, digits, or other
// marks, each with a space before it if there is one; and white space. Beyond ASCII every character counts as
// a letter, where GPT-2 uses Unicode's tables.
class BpeTokenizer final : public Tokenizer {
 public:
  // A vocabulary of 256 bytes and pairs up to `vocabulary_size` tokens; fewer if no pair is left that occurs
  // twice. If pairs occur equally often, the one with the smaller numbers comes first: as in Hugging Face's
  // trainer with min_frequency = 2. Throws ConfigError for a size below 256.
  static BpeTokenizer train(std::string_view text, std::int64_t vocabulary_size);

  // As tokenizer.json, which Hugging Face's tokenizers read. load() reads files of save(), and throws IoError
  // missing or malformed for everything else, such as other rules for words or tokens added by hand.
  static BpeTokenizer load(const std::string& path);
  void save(const std::string& path) const;
  // The same for a file's text, which errors call `where`.
  static BpeTokenizer parse(const std::string& text, const std::string& where);
  std::string text() const;

  const std::vector<std::string>& vocabulary() const override { return tokens_; }
  // The pairs that are merged, the lowest rank first.
  const std::vector<std::pair<std::int64_t, std::int64_t>>& merges() const { return merges_; }
  Tensor encode(std::string_view text) const override;

 private:
  struct Merge {
    std::int64_t rank, token;
  };

  BpeTokenizer();
  // The token of the two; a new one, unless another pair has already made it.
  std::int64_t add_merge(std::int64_t left, std::int64_t right);
  void encode_word(std::string_view word, std::vector<std::int64_t>& numbers) const;

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<std::pair<std::int64_t, std::int64_t>> merges_;
  std::unordered_map<std::uint64_t, Merge> merge_of_;  // by pair
};

}  // namespace veldt::data
