// Pairs of texts as tokens, for networks that turn one into the other; what such a network makes of a text.
// Tests: tests/recipe/translate_test.cpp, tests/app/train_graphs_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/nn/module.h"
#include "veldt/recipe/facts.h"

namespace veldt::recipe {

// What begins and ends a text, and fills up shorter ones: no text of a line has it.
inline constexpr char kTextEnd = '\n';

// The tokens of a source, [length], filled up. Throws ConfigError for a longer text, and for a character that
// the training data did not have.
Tensor source_tokens(const data::Tokenizer& tokenizer, const std::string& text, std::int64_t length);

// For each text the one that a network {source, target so far} -> {next token} writes, always the likeliest
// token, to its end or to the length of the longest it was taught. Throws as source_tokens().
std::vector<std::string> translated_texts(const Facts& facts, const nn::Module& model,
                                          const std::vector<std::string>& texts);

}  // namespace veldt::recipe
