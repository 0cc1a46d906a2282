// Regular expressions over whole texts, in the syntax of RE2: no back references, so matching takes time in
// proportion to text and pattern (Thompson 1968), whatever these are.
// Tests: tests/onnx/pattern_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veldt::onnx {

class Pattern {
 public:
  // UTF-8. Throws UsageError for what is no pattern, for Unicode classes (\p), and for more than 20000 steps
  // once its repetitions are written out.
  explicit Pattern(std::string_view text);
  // Whether all of the text matches.
  bool matches(std::string_view text) const;

  struct Ranges {
    std::vector<std::pair<char32_t, char32_t>> list;
    bool negated = false;
    bool has(char32_t c) const;
  };

 private:
  friend class PatternCompiler;
  enum class Op : std::uint8_t { character, split, jump, begin, end, word_edge, no_word_edge, match };
  struct Step {
    Op op = Op::match;
    std::size_t to = 0, other = 0;  // of a split; of a jump; of a character: its ranges
  };
  std::vector<Step> steps_;
  std::vector<Ranges> ranges_;
};

}  // namespace veldt::onnx
