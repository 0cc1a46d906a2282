// Text and time series as examples: tokens, and windows that run over a sequence.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/data/dataset.h"

namespace veldt::data {

// A number for each character (Unicode code point) that a text has, in the order of their code points.
class CharTokenizer {
 public:
  // Throws ConfigError for a text that is empty or not UTF-8.
  explicit CharTokenizer(std::string_view text);
  // Of a vocabulary that was kept: one character each, as vocabulary() gives them.
  static CharTokenizer of(const std::vector<std::string>& vocabulary);

  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  const std::vector<std::string>& vocabulary() const { return characters_; }
  // i64 [characters]. Throws ConfigError naming the first character that has no number.
  Tensor encode(std::string_view text) const;
  // Of whole numbers of any shape, row by row. Throws ConfigError for a number that stands for nothing.
  std::string decode(const Tensor& tokens) const;

 private:
  CharTokenizer() = default;
  void number_them();

  std::vector<std::string> characters_;
  std::map<std::string, std::int64_t, std::less<>> numbers_;
};

// Example i of tokens i64 [n]: {tokens i .. i + length - 1, the same one further on}, both [length]. There
// are n - length. Throws ShapeError for another dtype or rank, ConfigError for a length that leaves none.
DatasetPtr token_windows(const Tensor& tokens, std::int64_t length);

// Example i of a series [n, features]: {rows i .. i + past - 1, the `future` rows after them}. Throws as
// token_windows().
DatasetPtr series_windows(const Tensor& series, std::int64_t past, std::int64_t future = 1);

}  // namespace veldt::data
