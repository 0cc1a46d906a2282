// How a tokenizer cuts a text into words: Hugging Face's pre-tokenizers.
// Tests: tests/data/subword_tokenizer_test.cpp
#pragma once

#include <functional>
#include <string>

#include "veldt/data/aligned_text.h"
#include "veldt/data/regex.h"

namespace veldt::data {

using PreTokenizer = std::function<void(Pieces&)>;

// The words of GPT-2 (Radford et al. 2019).
inline constexpr const char* kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Where a blank is put before a text: before each piece, before the user's first one, or nowhere.
enum class Prepend { always, first, never };

PreTokenizer bert_pre_tokenizer();        // at white space, and each mark by itself
PreTokenizer whitespace_pre_tokenizer();  // \w+|[^\w\s]+
PreTokenizer whitespace_split_pre_tokenizer();
PreTokenizer split_pre_tokenizer(Matcher pattern, Delimiter delimiter, bool inverted);
PreTokenizer digits_pre_tokenizer(bool individual);
// Bytes as letters, cut by GPT-2's words or, without `cuts`, not at all.
PreTokenizer byte_level_pre_tokenizer(bool add_prefix_space, bool cuts);
// Each blank as `replacement`, which begins the words.
PreTokenizer metaspace_pre_tokenizer(char32_t replacement, Prepend prepend, bool splits);

Matcher matcher(Regex expression);

}  // namespace veldt::data
