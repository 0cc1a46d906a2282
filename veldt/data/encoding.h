// The tokens of a text, and how their number is changed.
// Tests: tests/data/subword_tokenizer_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::data {

// The tokens of a text, or of a pair of texts; each list has one entry a token.
struct Encoding {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> type_ids;  // 0 for the first text, 1 for the second, or as the file says
  // Where each token is in its text, in bytes: begin and end. {0, 0} for what is in none.
  std::vector<std::pair<std::size_t, std::size_t>> offsets;
  std::vector<bool> special;    // put there by the post-processor or as padding
  std::vector<bool> attention;  // false for padding
};

// Encodings of one length as tensors [n, tokens].
struct TokenBatch {
  Tensor ids, type_ids;   // i64
  Tensor attention_mask;  // booleans: false for padding
};

enum class Side { left, right };

// Tokens beyond max_length are cut away, before special ones are added.
struct Truncation {
  enum class Strategy { longest_first, only_first, only_second };  // of a pair
  std::int64_t max_length = 512;                                   // with the special tokens
  Strategy strategy = Strategy::longest_first;
  Side direction = Side::right;
};

struct Padding {
  std::optional<std::int64_t> length = {};  // none: that of a batch's longest text
  std::int64_t multiple_of = 1;             // rounds the length up
  std::int64_t id = 0, type_id = 0;
  Side direction = Side::right;
};

}  // namespace veldt::data
