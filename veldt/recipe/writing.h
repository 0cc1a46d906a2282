// The text that a network trained on a text writes.
// Tests: tests/app/train_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "veldt/nn/module.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

struct WritingOptions {
  std::string prompt = {};
  std::int64_t count = 500;
  double temperature = 0.8;  // below 1: sharper than the network's output; 0: the likeliest token
  std::uint64_t seed = 1;
  std::function<bool()> should_stop = {};
};

// The prompt and `count` more tokens, each chosen by models::generate() from the network's output for the
// recipe's context before it. The model is in evaluation mode. Throws ConfigError for a prompt with a
// character that the training text did not have, a count below 0 and a temperature below 0.
std::string written_text(const Recipe& recipe, const Facts& facts, const nn::Module& model,
                         const WritingOptions& options);

}  // namespace veldt::recipe
