// Tokenizers as Hugging Face's tokenizer.json describes them: parts of words as numbers.
// Tests: tests/data/subword_tokenizer_test.cpp, tests/data/bpe_training_test.cpp,
// tests/data/tokenizer_peers_test.cpp, tests/fuzz/text.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veldt/data/encoding.h"
#include "veldt/data/tokenizer.h"

namespace veldt::data {

struct SubwordParts;  // subword_parts.h

// A model (byte pairs, WordPiece, Unigram or whole words), with what is done to a text before and after:
// normalisation, division into words, added tokens, templates of special tokens, truncation, padding. Numbers
// are those of Hugging Face's `tokenizers` for the same file.
//
// A text may hold any bytes. Those that are not UTF-8 are characters that no rule applies to: tokenizers over
// bytes bring them back, others take them for unknown.
class SubwordTokenizer final : public Tokenizer {
 public:
  // Byte pair encoding (Sennrich et al. 2016) over bytes (Radford et al. 2019), learned from a text: pairs of
  // neighbouring tokens within words are joined, the most frequent first, until there are `vocabulary_size`
  // tokens or no pair occurs twice. Of pairs as frequent as each other the one with the smaller numbers comes
  // first, as in Hugging Face's trainer with min_frequency = 2. Words are GPT-2's of ASCII text; beyond it
  // every character counts as a letter. Any bytes are encoded and decoded without loss. Throws ConfigError
  // for a size below 256, the number of bytes.
  static SubwordTokenizer train_bpe(std::string_view text, std::int64_t vocabulary_size);

  // A tokenizer.json. Throws IoError missing, or malformed naming the part that is wrong or that Veldt does
  // not know.
  static SubwordTokenizer load(const std::string& path);
  // The same for a file's text, which errors call `where`.
  static SubwordTokenizer parse(std::string text, const std::string& where);
  // As it was read or trained, without what set_truncation() and set_padding() changed.
  void save(const std::string& path) const;
  const std::string& text() const;

  const std::vector<std::string>& vocabulary() const override;
  // The number of a token, of the model's or of an added one: id("[SEP]").
  std::optional<std::int64_t> id(std::string_view token) const;
  bool is_special(std::int64_t id) const;

  // encoded(text).ids as i64 [tokens].
  Tensor encode(std::string_view text) const override;
  // Throws ConfigError for a text with what the model has no token for, and where it has no unknown one, and
  // for one that the file's regular expressions give up on.
  Encoding encoded(std::string_view text, bool special_tokens = true) const;
  // Two texts as one sequence, such as question and context.
  Encoding encoded(std::string_view text, std::string_view second, bool special_tokens = true) const;
  // Rows of one length. Throws ConfigError for no texts, or for texts of several lengths without a padding:
  // see set_padding().
  TokenBatch encode_batch(const std::vector<std::string>& texts) const;
  TokenBatch encode_batch(const std::vector<std::pair<std::string, std::string>>& pairs) const;
  // The text of tokens, without special ones. Bytes of a character that is cut off are left as they are.
  std::string decode(const Tensor& tokens) const override;
  std::string decode(const std::vector<std::int64_t>& ids, bool skip_special_tokens = true) const;

  // What the file says, and another choice; none: neither cut nor padded.
  const std::optional<Truncation>& truncation() const { return truncation_; }
  const std::optional<Padding>& padding() const { return padding_; }
  void set_truncation(std::optional<Truncation> truncation) { truncation_ = truncation; }
  // Throws ConfigError for a length below 0, and a multiple_of below 1.
  void set_padding(std::optional<Padding> padding);

 private:
  SubwordTokenizer() = default;
  Encoding of_text(std::string_view text) const;
  Encoding finished(Encoding first, std::optional<Encoding> second, bool special_tokens) const;

  std::shared_ptr<const SubwordParts> parts_;
  std::optional<Truncation> truncation_;
  std::optional<Padding> padding_;
};

}  // namespace veldt::data
