// Pre-tokenizers as functions on the pieces of a text.
#include "veldt/data/pre_tokenizer.h"

#include "veldt/data/normalizer.h"

namespace veldt::data {
namespace {

// Runs of word characters and runs of other marks; white space is dropped.
void keep_words(Pieces& pieces) {
  enum class Class { space, word, mark };
  std::vector<ByteRange> cut;
  for (std::size_t i = 0; i < pieces.ranges.size(); ++i) {
    const std::string_view piece = pieces[i];
    Class last = Class::space;
    for (std::size_t at = 0; at < piece.size();) {
      const Character c = character_at(piece, at);
      const Class kind = is_word(c.code) ? Class::word : is_white_space(c.code) ? Class::space : Class::mark;
      const std::size_t begin = pieces.ranges[i].begin + at;
      if (kind != Class::space && kind == last)
        cut.back().end = begin + c.bytes;
      else if (kind != Class::space)
        cut.push_back({begin, begin + c.bytes});
      last = kind;
      at += c.bytes;
    }
  }
  pieces.ranges = std::move(cut);
}

// Writes the pieces anew: step(piece, range, into) adds what becomes of one.
void rewrite(Pieces& pieces, FunctionRef<void(std::string_view, ByteRange, AlignedText&)> step) {
  AlignedText into;
  into.text.reserve(pieces.text.text.size() + 3 * pieces.ranges.size());
  into.origins.reserve(into.text.capacity());
  std::vector<ByteRange> ranges;
  for (std::size_t i = 0; i < pieces.ranges.size(); ++i) {
    const std::size_t begin = into.text.size();
    step(pieces[i], pieces.ranges[i], into);
    if (into.text.size() > begin) ranges.push_back({begin, into.text.size()});
  }
  pieces = {std::move(into), std::move(ranges), pieces.begins_text};
}

}  // namespace

PreTokenizer bert_pre_tokenizer() {
  return [](Pieces& pieces) {
    split(pieces, matcher(is_white_space), Delimiter::removed);
    split(pieces, matcher(is_punctuation), Delimiter::isolated);
  };
}

PreTokenizer whitespace_pre_tokenizer() { return keep_words; }

PreTokenizer whitespace_split_pre_tokenizer() {
  return split_pre_tokenizer(matcher(is_white_space), Delimiter::removed, false);
}

PreTokenizer split_pre_tokenizer(Matcher pattern, Delimiter delimiter, bool inverted) {
  return [pattern = std::move(pattern), delimiter, inverted](Pieces& pieces) {
    split(pieces, pattern, delimiter, inverted);
  };
}

PreTokenizer digits_pre_tokenizer(bool individual) {
  return split_pre_tokenizer(matcher(is_numeric), individual ? Delimiter::isolated : Delimiter::contiguous,
                             false);
}

PreTokenizer byte_level_pre_tokenizer(bool add_prefix_space, bool cuts) {
  const Matcher words = cuts ? matcher(Regex(kGpt2Words)) : Matcher();
  return [add_prefix_space, words](Pieces& pieces) {
    if (add_prefix_space)
      rewrite(pieces, [&](std::string_view piece, ByteRange range, AlignedText& into) {
        if (!piece.starts_with(' ')) into.add(U' ', pieces.text.origins[range.begin]);
        into.add(pieces.text, range);
      });
    if (words) split(pieces, words, Delimiter::isolated);
    to_byte_letters(pieces);
  };
}

PreTokenizer metaspace_pre_tokenizer(char32_t replacement, Prepend prepend, bool splits) {
  std::string mark;
  append(mark, replacement);
  return [mark, prepend, splits](Pieces& pieces) {
    rewrite(pieces, [&](std::string_view piece, ByteRange range, AlignedText& into) {
      const ByteRange first = pieces.text.origins[range.begin];
      const bool is_first = pieces.begins_text && range.begin == 0;
      const bool prepends = prepend == Prepend::always || (prepend == Prepend::first && is_first);
      if (prepends && !piece.starts_with(' ') && !piece.starts_with(mark)) into.add(mark, first);
      std::size_t at = range.begin;
      for (std::size_t i = 0; i < piece.size(); ++i) {
        if (piece[i] != ' ') continue;
        into.add(pieces.text, {at, range.begin + i});
        into.add(mark, pieces.text.origins[range.begin + i]);
        at = range.begin + i + 1;
      }
      into.add(pieces.text, {at, range.end});
    });
    if (splits) split(pieces, matcher(mark), Delimiter::merged_with_next);
  };
}

Matcher matcher(Regex expression) {
  return [expression = std::move(expression)](std::string_view text,
                                              FunctionRef<void(std::size_t, std::size_t)> found) {
    expression.for_each_match(text, found);
  };
}

}  // namespace veldt::data
