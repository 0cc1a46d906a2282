// The checks that the options of several language models share.
// Tests: tests/models/language_test.cpp
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "veldt/core/error.h"

namespace veldt::models {

// Sizes come from files: each is from 1 to 2^24, so that no product of two is beyond what can be counted.
inline void check_sizes(const std::string& model,
                        std::initializer_list<std::pair<const char*, std::int64_t>> sizes) {
  for (const auto& [name, size] : sizes)
    if (size < 1 || size > (1 << 24))
      throw ConfigError(str("cannot build ", model, " with ", name, " of ", size), "sizes are from 1 to 2^24",
                        "correct its config.json");
}

// Each layer costs memory even before its numbers do; the deepest known networks have some 130.
inline void check_layers(const std::string& model, std::int64_t layers) {
  if (layers < 1 || layers > 1024)
    throw ConfigError(str("cannot build ", model, " with ", layers, " layers"), "there are from 1 to 1024",
                      "correct its config.json");
}

inline void check_heads(const std::string& model, std::int64_t size, std::int64_t heads) {
  if (size % heads != 0)
    throw ConfigError(str("cannot build ", model, " with ", heads, " heads for ", size, " numbers"),
                      "they are shared out among the heads", "give a number of heads that divides them");
}

}  // namespace veldt::models
