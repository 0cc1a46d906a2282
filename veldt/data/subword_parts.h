// The parts of a SubwordTokenizer, as subword_file.cpp reads them and subword_tokenizer.cpp uses them.
// Tests: tests/data/subword_tokenizer_test.cpp
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "veldt/data/encoding.h"
#include "veldt/data/normalizer.h"
#include "veldt/data/pre_tokenizer.h"
#include "veldt/data/prefix_tree.h"
#include "veldt/data/subword_model.h"

namespace veldt::data {

// A token that is found in a text before the model sees it.
struct AddedToken {
  std::int64_t id = 0;
  std::string content = {};
  bool single_word = false;             // not within a word
  bool lstrip = false, rstrip = false;  // takes white space beside it
  bool normalized = false;              // looked for after normalisation
  bool special = false;                 // decode() leaves it out
};

// One part of a template: a special token, or (`sequence` 0 or 1) a text.
struct TemplatePart {
  std::vector<std::int64_t> ids = {};
  int sequence = -1;
  std::int64_t type_id = 0;
};

// All of Hugging Face's post-processors.
struct PostProcessor {
  // Offsets of tokens over bytes leave out blanks at their ends; the value is ByteLevel's add_prefix_space.
  std::optional<bool> trims = {};
  bool one_type = false;                             // RoBERTa's: every type is 0
  std::vector<TemplatePart> single = {}, pair = {};  // empty: the texts alone
};

// A step from tokens to text.
using TokenDecoder = std::function<void(std::vector<std::string>&)>;

TokenDecoder byte_level_decoder();
TokenDecoder word_piece_decoder(std::string prefix, bool cleanup);
TokenDecoder metaspace_decoder(char32_t replacement, Prepend prepend);
TokenDecoder bpe_decoder(std::string suffix);
TokenDecoder byte_fallback_decoder();
TokenDecoder fuse_decoder();
TokenDecoder strip_decoder(char32_t content, std::int64_t start, std::int64_t stop);
TokenDecoder replace_decoder(Matcher pattern, std::string content);

struct SubwordParts {
  std::string text;  // of the file
  std::shared_ptr<Vocabulary> vocabulary;
  std::vector<AddedToken> added;
  std::unordered_set<std::int64_t> added_ids, special;
  Normalizer normalizer;       // empty: none
  PreTokenizer pre_tokenizer;  // empty: the text is one word
  std::unique_ptr<SubwordModel> model;
  PostProcessor post;
  std::vector<TokenDecoder> decoder;  // empty: tokens with blanks between

  // By what they look like: those of the plain text, and those of the normalised one. Numbers are places in
  // `added`.
  std::optional<PrefixTree> plain, normalized;

  Encoding encode(std::string_view text) const;

 private:
  struct Segment;
  std::vector<Segment> segments(std::string_view text) const;
  std::vector<Segment> cut_at_added(AlignedText text, const PrefixTree& tree) const;
  // Returns how long the text is after all steps.
  std::size_t encode_words(AlignedText text, bool begins_text, Encoding& into) const;
};

}  // namespace veldt::data
