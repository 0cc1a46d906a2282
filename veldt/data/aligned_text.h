// A text on its way to tokens: as it has become, with where each byte of it comes from, and cut into pieces.
// Tests: tests/data/subword_tokenizer_test.cpp
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/core/function_ref.h"
#include "veldt/data/unicode.h"

namespace veldt::data {

struct ByteRange {
  std::size_t begin, end;
  bool operator==(const ByteRange&) const = default;
};

struct AlignedText {
  std::string text;
  std::vector<ByteRange> origins;  // of each byte of `text`: the character of the user's text

  // A part of the user's text, which begins at `offset` there.
  static AlignedText of(std::string_view part, std::size_t offset);

  void add(char32_t code, ByteRange origin);
  void add(std::string_view characters, ByteRange origin);
  // The bytes of `from` in that range, as they are.
  void add(const AlignedText& from, ByteRange range);
  // See below, for the bytes of the user's text that it comes from.
  void check_growth() const;
  // Where that range comes from; of an empty one, the place after the byte before it.
  ByteRange origin_of(ByteRange range) const;
};

// Throws ConfigError where `from` bytes have become so many that a file must mean harm: more than 1 MiB and
// 64 for each.
void check_growth(std::size_t size, std::size_t from);

// Writes a text anew, character by character: step(code, origin, into).
AlignedText rewritten(const AlignedText& from, FunctionRef<void(char32_t, ByteRange, AlignedText&)> step);

// A text and its parts, from left to right.
struct Pieces {
  AlignedText text;
  std::vector<ByteRange> ranges;
  bool begins_text = true;  // whether it is the beginning of the user's text

  std::string_view operator[](std::size_t i) const {
    return std::string_view(text.text).substr(ranges[i].begin, ranges[i].end - ranges[i].begin);
  }
};

// What becomes of a piece that divides others: Hugging Face's SplitDelimiterBehavior.
enum class Delimiter { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// Finds the parts of a text that match: calls found(begin, end) from left to right.
using Matcher = std::function<void(std::string_view, FunctionRef<void(std::size_t, std::size_t)>)>;

// Each character for which it holds.
Matcher matcher(bool (*holds)(char32_t));
// Each place of a text.
Matcher matcher(std::string text);

// Cuts each piece at what matches, or, inverted, at what does not. Empty pieces are dropped.
void split(Pieces& pieces, const Matcher& match, Delimiter delimiter, bool inverted = false);

}  // namespace veldt::data
