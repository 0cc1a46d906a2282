// The models that make tokens of a word: byte pairs, WordPiece, whole words, and Unigram.
// Tests: tests/data/subword_tokenizer_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace veldt::data {

struct WordToken {
  std::int64_t id;
  std::size_t begin, end;  // bytes of the word
};

class SubwordModel {
 public:
  virtual ~SubwordModel() = default;
  // Adds the tokens of a word that is not empty. Throws ConfigError where there are none for it.
  virtual void encode(std::string_view word, std::vector<WordToken>& into) const = 0;
};

// Tokens by number, and numbers by token; "" where a number has none.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::unordered_map<std::string, std::int64_t> ids;

  std::optional<std::int64_t> id(const std::string& token) const;
};
// The tokens "<0x00>" to "<0xFF>"; -1 where one is missing.
std::vector<std::int64_t> byte_tokens(const Vocabulary& vocabulary);
using VocabularyPtr = std::shared_ptr<const Vocabulary>;

struct BpeOptions {
  std::optional<std::int64_t> unknown = {};  // a token
  std::string continuing_subword_prefix = {}, end_of_word_suffix = {};
  bool fuse_unknown = false, byte_fallback = false;
  bool ignore_merges = false;  // where a whole word is a token
};
// Byte pair encoding (Sennrich et al. 2016). Throws ConfigError naming a merge of what is no token.
std::unique_ptr<SubwordModel> bpe_model(VocabularyPtr vocabulary,
                                        const std::vector<std::pair<std::string, std::string>>& merges,
                                        BpeOptions options);

struct WordPieceOptions {
  std::int64_t unknown = 0;  // a token
  std::string prefix = "##";
  std::int64_t max_characters = 100;  // of a word; a longer one is unknown
};
// The longest token first (Schuster & Nakajima 2012). Throws ConfigError for a token beyond a kilobyte.
std::unique_ptr<SubwordModel> word_piece_model(VocabularyPtr vocabulary, WordPieceOptions options);

// Each word is a token, or the unknown one.
std::unique_ptr<SubwordModel> word_level_model(VocabularyPtr vocabulary, std::optional<std::int64_t> unknown);

struct UnigramOptions {
  std::optional<std::int64_t> unknown = {};
  bool byte_fallback = false;
};
// The most likely tokens (Kudo 2018), by the Viterbi algorithm: `scores` are the logarithms of their
// likelihoods. Throws ConfigError for a token beyond a kilobyte.
std::unique_ptr<SubwordModel> unigram_model(VocabularyPtr vocabulary, std::vector<double> scores,
                                            UnigramOptions options);

}  // namespace veldt::data
