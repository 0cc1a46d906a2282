// Texts that know where they come from, and their division.
#include "veldt/data/aligned_text.h"

#include "veldt/core/error.h"

namespace veldt::data {

AlignedText AlignedText::of(std::string_view part, std::size_t offset) {
  AlignedText aligned;
  aligned.text = part;
  aligned.origins.reserve(part.size());
  for (std::size_t at = 0; at < part.size();) {
    const std::size_t bytes = character_at(part, at).bytes;
    aligned.origins.insert(aligned.origins.end(), bytes, {offset + at, offset + at + bytes});
    at += bytes;
  }
  return aligned;
}

void AlignedText::add(char32_t code, ByteRange origin) {
  append(text, code);
  origins.resize(text.size(), origin);
}

void AlignedText::add(std::string_view characters, ByteRange origin) {
  text += characters;
  origins.resize(text.size(), origin);
}

void AlignedText::add(const AlignedText& from, ByteRange range) {
  text.append(from.text, range.begin, range.end - range.begin);
  const auto at = [&](std::size_t i) { return from.origins.begin() + static_cast<std::ptrdiff_t>(i); };
  origins.insert(origins.end(), at(range.begin), at(range.end));
}

void AlignedText::check_growth() const {
  if (!text.empty()) data::check_growth(text.size(), origins.back().end - origins.front().begin);
}

void check_growth(std::size_t size, std::size_t from) {
  if (size > (std::size_t{1} << 20) + 64 * from)
    throw ConfigError(str("a text of ", from, " bytes grows to more than ", size - 1),
                      "the tokenizer's steps replace what is short by what is long",
                      "look at the normalizer and the pre_tokenizer of its file");
}

ByteRange AlignedText::origin_of(ByteRange range) const {
  if (range.begin < range.end) return {origins[range.begin].begin, origins[range.end - 1].end};
  const std::size_t place = range.begin > 0 ? origins[range.begin - 1].end : 0;
  return {place, place};
}

AlignedText rewritten(const AlignedText& from, FunctionRef<void(char32_t, ByteRange, AlignedText&)> step) {
  AlignedText into;
  into.text.reserve(from.text.size());
  into.origins.reserve(from.text.size());
  for (std::size_t at = 0; at < from.text.size();) {
    const Character c = character_at(from.text, at);
    step(c.code, from.origins[at], into);
    at += c.bytes;
  }
  return into;
}

Matcher matcher(bool (*holds)(char32_t)) {
  return [holds](std::string_view text, FunctionRef<void(std::size_t, std::size_t)> found) {
    for (std::size_t at = 0; at < text.size();) {
      const Character c = character_at(text, at);
      if (holds(c.code)) found(at, at + c.bytes);
      at += c.bytes;
    }
  };
}

Matcher matcher(std::string wanted) {
  return
      [wanted = std::move(wanted)](std::string_view text, FunctionRef<void(std::size_t, std::size_t)> found) {
        if (wanted.empty()) return;
        for (std::size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + wanted.size()))
          found(at, at + wanted.size());
      };
}

void split(Pieces& pieces, const Matcher& match, Delimiter delimiter, bool inverted) {
  std::vector<ByteRange> cut;
  for (std::size_t i = 0; i < pieces.ranges.size(); ++i) {
    const ByteRange whole = pieces.ranges[i];
    const std::size_t first = cut.size();
    bool last_matches = false;        // of the part before
    std::size_t waiting = whole.end;  // where a delimiter for the next part begins; the end: there is none
    const auto part = [&](std::size_t begin, std::size_t end, bool is_match) {
      if (begin == end) return;
      const bool matches = is_match != inverted, was_match = last_matches, is_first = cut.size() == first;
      last_matches = matches;
      switch (delimiter) {
        case Delimiter::removed:
          if (!matches) cut.push_back({begin, end});
          return;
        case Delimiter::isolated: cut.push_back({begin, end}); return;
        case Delimiter::contiguous:
          if (matches == was_match && !is_first)
            cut.back().end = end;
          else
            cut.push_back({begin, end});
          return;
        case Delimiter::merged_with_previous:
          if (matches && !was_match && !is_first)
            cut.back().end = end;
          else
            cut.push_back({begin, end});
          return;
        case Delimiter::merged_with_next:
          if (matches) {
            if (waiting != whole.end) cut.push_back({waiting, begin});
            waiting = begin;
          } else {
            cut.push_back({waiting != whole.end ? waiting : begin, end});
            waiting = whole.end;
          }
          return;
      }
    };
    std::size_t at = whole.begin;
    match(pieces[i], [&](std::size_t begin, std::size_t end) {
      part(at, whole.begin + begin, false);
      part(whole.begin + begin, whole.begin + end, true);
      at = whole.begin + end;
    });
    part(at, whole.end, false);
    if (waiting != whole.end) cut.push_back({waiting, whole.end});
  }
  pieces.ranges = std::move(cut);
}

}  // namespace veldt::data
