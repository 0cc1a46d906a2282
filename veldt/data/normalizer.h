// The steps that a tokenizer takes with a text before it looks for words: Hugging Face's normalizers.
// Tests: tests/data/subword_tokenizer_test.cpp
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/data/aligned_text.h"

namespace veldt::data {

using Normalizer = std::function<void(AlignedText&)>;

struct BertNormalizerOptions {
  bool clean_text = true;            // drops control characters, makes all white space blanks
  bool handle_chinese_chars = true;  // blanks around ideographs
  bool strip_accents = true;
  bool lowercase = true;
};
// BERT's (Devlin et al. 2018).
Normalizer bert_normalizer(const BertNormalizerOptions& options);
Normalizer unicode_normalizer(NormalForm form);
Normalizer lowercase_normalizer();
Normalizer strip_accents_normalizer();  // drops marks; what is to lose its accents is decomposed before
Normalizer strip_normalizer(bool left, bool right);  // white space
Normalizer replace_normalizer(Matcher pattern, std::string content);
Normalizer prepend_normalizer(std::string text);  // to what is not empty
Normalizer nmt_normalizer();                      // control characters, as SentencePiece's nmt rules have it
Normalizer byte_level_normalizer();               // each byte as GPT-2's letter
// SentencePiece's compiled rules: a trie of what is replaced, and the replacements. Throws ConfigError for
// bytes that are none.
Normalizer precompiled_normalizer(std::string charsmap);

// Each byte of the ranges as GPT-2's letter, in place; the ranges follow.
void to_byte_letters(Pieces& pieces);

}  // namespace veldt::data
