// A text's way through the parts of a tokenizer, and back.
#include "veldt/data/subword_tokenizer.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/data/bpe_alphabet.h"
#include "veldt/data/subword_parts.h"
#include "veldt/io/file.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

constexpr std::size_t kMaxKnownWord = 256;  // bytes; longer words are not kept

void add_token(Encoding& e, std::int64_t id, std::int64_t type_id, ByteRange at, bool special) {
  e.ids.push_back(id);
  e.type_ids.push_back(type_id);
  e.offsets.push_back({at.begin, at.end});
  e.special.push_back(special);
  e.attention.push_back(true);
}

template <class T> void keep(std::vector<T>& list, std::size_t count, Side cut_from) {
  if (cut_from == Side::right)
    list.resize(count);
  else
    list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(count));
}

void truncate(Encoding& e, std::size_t count, Side from) {
  if (count >= e.ids.size()) return;
  keep(e.ids, count, from);
  keep(e.type_ids, count, from);
  keep(e.offsets, count, from);
  keep(e.special, count, from);
  keep(e.attention, count, from);
}

void truncate(Encoding& first, std::optional<Encoding>& second, std::size_t room, const Truncation& t) {
  std::size_t n1 = first.ids.size(), n2 = second ? second->ids.size() : 0;
  if (n1 + n2 <= room) return;
  const std::size_t excess = n1 + n2 - room;
  if (t.strategy == Truncation::Strategy::longest_first) {
    if (!second) return truncate(first, room, t.direction);
    // The shorter one stays whole if that leaves as much for the longer one; else both get half.
    const bool swapped = n1 > n2;
    if (swapped) std::swap(n1, n2);
    n2 = n1 > room ? n1 : std::max(n1, room - n1);
    if (n1 + n2 > room) {
      n1 = room / 2;
      n2 = n1 + room % 2;
    }
    if (swapped) std::swap(n1, n2);
    truncate(first, n1, t.direction);
    truncate(*second, n2, t.direction);
    return;
  }
  const bool is_first = t.strategy == Truncation::Strategy::only_first;
  if (!is_first && !second)
    throw ConfigError("cannot cut the second text", "there is none", "give a pair, or cut the first");
  Encoding& cut = is_first ? first : *second;
  if (cut.ids.size() <= excess)
    throw ConfigError(str("cannot cut a text of ", cut.ids.size(), " tokens by ", excess),
                      "it alone is to be cut, and nothing would be left",
                      "allow more tokens, or cut the longest first");
  truncate(cut, cut.ids.size() - excess, t.direction);
}

template <class T> void pad(std::vector<T>& list, std::size_t length, T value, Side side) {
  const std::size_t more = length - list.size();
  list.insert(side == Side::right ? list.end() : list.begin(), more, value);
}

void pad(Encoding& e, std::size_t length, const Padding& p) {
  if (length <= e.ids.size()) return;
  pad(e.ids, length, p.id, p.direction);
  pad(e.type_ids, length, p.type_id, p.direction);
  pad(e.offsets, length, {std::size_t{0}, std::size_t{0}}, p.direction);
  pad(e.special, length, true, p.direction);
  pad(e.attention, length, false, p.direction);
}

std::size_t padded_length(std::size_t longest, const Padding& p) {
  const std::size_t length = p.length ? static_cast<std::size_t>(*p.length) : longest;
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(p.multiple_of, 1));
  return (length + step - 1) / step * step;
}

void append(Encoding& to, const Encoding& from) {
  const auto add = [](auto& a, const auto& b) { a.insert(a.end(), b.begin(), b.end()); };
  add(to.ids, from.ids);
  add(to.type_ids, from.type_ids);
  add(to.offsets, from.offsets);
  add(to.special, from.special);
  add(to.attention, from.attention);
}

// The beginning of the character before `at`, which is above 0.
std::size_t character_before(std::string_view text, std::size_t at) {
  std::size_t begin = at - 1;
  while (begin > 0 && at - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return begin + character_at(text, begin).bytes == at ? begin : at - 1;
}

// Leaves out the blanks at the ends of byte-level tokens, but for one that was put before the text.
void trim(Encoding& e, std::string_view user_text, const SubwordParts& parts, bool add_prefix_space) {
  const auto is_blank = [](char32_t c) { return c == letter_of(' ') || is_white_space(c); };
  for (std::size_t i = 0; i < e.ids.size(); ++i) {
    auto& [begin, end] = e.offsets[i];
    const std::string_view token =
        parts.added_ids.contains(e.ids[i])
            ? user_text.substr(begin, end - begin)
            : std::string_view(parts.vocabulary->tokens[static_cast<std::size_t>(e.ids[i])]);
    std::size_t leading = 0, trailing = 0, characters = 0;
    for (std::size_t at = 0; at < token.size(); ++characters) {
      const Character c = character_at(token, at);
      trailing = is_blank(c.code) ? trailing + 1 : 0;
      if (leading == characters && is_blank(c.code)) ++leading;
      at += c.bytes;
    }
    if (leading == 1 && add_prefix_space && (i == 0 || begin == 0)) leading = 0;
    for (; leading > 0 && begin < end; --leading) begin += character_at(user_text, begin).bytes;
    std::size_t back = end;
    for (; trailing > 0 && back > 0; --trailing) back = character_before(user_text, back);
    if (trailing == 0) end = std::max(back, begin);
  }
}

std::size_t count_special(const std::vector<TemplatePart>& parts) {
  std::size_t count = 0;
  for (const TemplatePart& part : parts) count += part.ids.size();
  return count;
}

TokenBatch batch_of(std::vector<Encoding> rows, const std::optional<Padding>& padding) {
  if (rows.empty()) throw ConfigError("a batch needs texts", "there are none", "give one or more");
  std::size_t longest = 0;
  for (const Encoding& row : rows) longest = std::max(longest, row.ids.size());
  const auto n = std::ssize(rows);
  std::vector<std::int64_t> ids, types;
  std::vector<bool> mask;
  for (Encoding& row : rows) {
    if (padding) pad(row, padded_length(longest, *padding), *padding);
    if (row.ids.size() != rows.front().ids.size())
      throw ConfigError(
          str("texts of ", rows.front().ids.size(), " and ", row.ids.size(), " tokens make no batch"),
          "its rows are of one length, and the tokenizer has no padding",
          "call set_padding(), with the number of the token that pads");
    ids.insert(ids.end(), row.ids.begin(), row.ids.end());
    types.insert(types.end(), row.type_ids.begin(), row.type_ids.end());
    mask.insert(mask.end(), row.attention.begin(), row.attention.end());
  }
  const Shape shape{n, std::ssize(ids) / n};
  const Tensor attention =
      Tensor::from<std::int64_t>(shape, std::vector<std::int64_t>(mask.begin(), mask.end()));
  return {Tensor::from<std::int64_t>(shape, ids), Tensor::from<std::int64_t>(shape, types),
          to(attention, DType::boolean)};
}

}  // namespace

// A part of a text: an added token, or what lies between two.
struct SubwordParts::Segment {
  AlignedText text;
  const AddedToken* token;  // null: none
};

std::vector<SubwordParts::Segment> SubwordParts::cut_at_added(AlignedText aligned,
                                                              const PrefixTree& tree) const {
  std::vector<Segment> found;
  const std::string_view all = aligned.text;
  std::size_t done = 0;
  const auto add = [&](std::size_t begin, std::size_t end, const AddedToken* token) {
    if (begin == end) return;
    Segment segment{{}, token};
    segment.text.add(aligned, {begin, end});
    found.push_back(std::move(segment));
  };
  const auto is_word_before = [&](std::size_t at) {
    return is_word(character_at(all, character_before(all, at)).code);
  };
  for (std::size_t at = 0; at < all.size();) {
    // The longest of those that begin here.
    std::int64_t place = -1;
    std::size_t end = at;
    PrefixTree::Node node = PrefixTree::kRoot;
    for (std::size_t i = at; i < all.size(); ++i) {
      node = tree.next(node, all[i]);
      if (node == PrefixTree::kNowhere) break;
      if (tree.number(node) < 0) continue;
      place = tree.number(node);
      end = i + 1;
    }
    if (place < 0) {
      at += character_at(all, at).bytes;
      continue;
    }
    const AddedToken& token = added[static_cast<std::size_t>(place)];
    const std::size_t next = end;
    if (token.single_word &&
        ((at > 0 && is_word_before(at)) || (end < all.size() && is_word(character_at(all, end).code)))) {
      at = next;
      continue;
    }
    std::size_t begin = at;
    if (token.lstrip) {  // back over white space
      std::size_t blank = begin;
      for (std::size_t i = done; i < begin;) {
        const Character c = character_at(all, i);
        if (!is_white_space(c.code))
          blank = begin;
        else if (blank == begin)
          blank = i;
        i += c.bytes;
      }
      begin = blank;
    }
    if (token.rstrip)
      while (end < all.size() && is_white_space(character_at(all, end).code))
        end += character_at(all, end).bytes;
    begin = std::max(begin, done);
    add(done, begin, nullptr);
    add(begin, end, &token);
    done = end;
    at = std::max(next, end);
  }
  add(done, all.size(), nullptr);
  return found;
}

std::vector<SubwordParts::Segment> SubwordParts::segments(std::string_view user_text) const {
  std::vector<Segment> found;
  std::size_t grown = 0;  // all of them are held at once
  for (Segment& outer : cut_at_added(AlignedText::of(user_text, 0), *plain)) {
    if (outer.token != nullptr) {
      found.push_back(std::move(outer));
      continue;
    }
    if (normalizer) normalizer(outer.text);
    check_growth(grown += outer.text.text.size(), user_text.size());
    for (Segment& inner : cut_at_added(std::move(outer.text), *normalized)) found.push_back(std::move(inner));
  }
  return found;
}

std::size_t SubwordParts::encode_words(AlignedText aligned, bool begins_text, Encoding& into) const {
  const std::size_t size = aligned.text.size();
  Pieces pieces{std::move(aligned), {{0, size}}, begins_text};
  if (pre_tokenizer) pre_tokenizer(pieces);
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> known;  // where in `tokens`
  std::vector<WordToken> tokens;
  for (std::size_t i = 0; i < pieces.ranges.size(); ++i) {
    const std::string_view word = pieces[i];
    if (word.empty()) continue;
    if (word.size() > kMaxKnownWord) tokens.reserve(tokens.size() + word.size() / 2);
    const auto [at, is_new] = known.try_emplace(word, tokens.size(), 0);
    if (is_new) {
      model->encode(word, tokens);
      at->second.second = tokens.size();
    }
    for (std::size_t t = at->second.first; t < at->second.second; ++t) {
      const WordToken& token = tokens[t];
      const std::size_t first = pieces.ranges[i].begin;
      add_token(into, token.id, 0, pieces.text.origin_of({first + token.begin, first + token.end}), false);
    }
  }
  return pieces.text.text.size();
}

Encoding SubwordParts::encode(std::string_view user_text) const {
  Encoding made;
  bool begins_text = true;
  std::size_t grown = 0;
  for (Segment& segment : segments(user_text)) {
    if (segment.token != nullptr)
      add_token(made, segment.token->id, 0, segment.text.origin_of({0, segment.text.text.size()}), false);
    else
      check_growth(grown += encode_words(std::move(segment.text), begins_text, made), user_text.size());
    begins_text = false;
  }
  return made;
}

const std::string& SubwordTokenizer::text() const { return parts_->text; }

void SubwordTokenizer::save(const std::string& path) const { io::write_file(path, text()); }

const std::vector<std::string>& SubwordTokenizer::vocabulary() const { return parts_->vocabulary->tokens; }

std::optional<std::int64_t> SubwordTokenizer::id(std::string_view token) const {
  return parts_->vocabulary->id(std::string(token));
}

void SubwordTokenizer::set_padding(std::optional<Padding> padding) {
  if (padding && (padding->length.value_or(0) < 0 || padding->multiple_of < 1))
    throw ConfigError("cannot pad texts so", "a length is 0 or more, and a multiple of 1 or more",
                      "correct them");
  padding_ = padding;
}

bool SubwordTokenizer::is_special(std::int64_t id) const { return parts_->special.contains(id); }

Encoding SubwordTokenizer::of_text(std::string_view user_text) const {
  Encoding made = parts_->encode(user_text);
  if (parts_->post.trims) trim(made, user_text, *parts_, *parts_->post.trims);
  return made;
}

Encoding SubwordTokenizer::finished(Encoding first, std::optional<Encoding> second,
                                    bool special_tokens) const {
  const PostProcessor& post = parts_->post;
  if (second) std::fill(second->type_ids.begin(), second->type_ids.end(), 1);
  const std::vector<TemplatePart>& parts = second ? post.pair : post.single;
  if (truncation_) {
    const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(truncation_->max_length, 0));
    const std::size_t added = special_tokens ? count_special(parts) : 0;
    if (limit < added)
      throw ConfigError(str("cannot cut a text to ", limit, " tokens"), str("the special ones are ", added),
                        "allow more");
    truncate(first, second, limit - added, *truncation_);
  }
  Encoding made;
  if (parts.empty() || !special_tokens) {
    made = std::move(first);
    if (second) append(made, *second);
    if (post.one_type) std::fill(made.type_ids.begin(), made.type_ids.end(), 0);
  } else {
    for (const TemplatePart& part : parts) {
      if (part.sequence < 0) {
        for (const std::int64_t id : part.ids) add_token(made, id, part.type_id, {0, 0}, true);
        continue;
      }
      Encoding& text = part.sequence == 0 ? first : *second;
      std::fill(text.type_ids.begin(), text.type_ids.end(), part.type_id);
      append(made, text);
    }
  }
  return made;
}

Encoding SubwordTokenizer::encoded(std::string_view user_text, bool special_tokens) const {
  Encoding made = finished(of_text(user_text), std::nullopt, special_tokens);
  if (padding_) pad(made, padded_length(made.ids.size(), *padding_), *padding_);
  return made;
}

Encoding SubwordTokenizer::encoded(std::string_view user_text, std::string_view second,
                                   bool special_tokens) const {
  Encoding made = finished(of_text(user_text), of_text(second), special_tokens);
  if (padding_) pad(made, padded_length(made.ids.size(), *padding_), *padding_);
  return made;
}

Tensor SubwordTokenizer::encode(std::string_view user_text) const {
  const Encoding made = encoded(user_text);
  return Tensor::from<std::int64_t>({std::ssize(made.ids)}, made.ids);
}

TokenBatch SubwordTokenizer::encode_batch(const std::vector<std::string>& texts) const {
  std::vector<Encoding> rows;
  for (const std::string& each : texts) rows.push_back(finished(of_text(each), std::nullopt, true));
  return batch_of(std::move(rows), padding_);
}

TokenBatch SubwordTokenizer::encode_batch(
    const std::vector<std::pair<std::string, std::string>>& pairs) const {
  std::vector<Encoding> rows;
  for (const auto& [first, second] : pairs) rows.push_back(finished(of_text(first), of_text(second), true));
  return batch_of(std::move(rows), padding_);
}

std::string SubwordTokenizer::decode(const Tensor& tokens) const {
  return decode(to(tokens, DType::i64).values<std::int64_t>());
}

std::string SubwordTokenizer::decode(const std::vector<std::int64_t>& ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  for (const std::int64_t id : ids) {
    if (id < 0 || id >= size())
      throw ConfigError(str("the number ", id, " is not a token"), str("they are 0 to ", size() - 1),
                        "decode what this tokenizer encoded");
    if (!skip_special_tokens || !is_special(id)) tokens.push_back(vocabulary()[static_cast<std::size_t>(id)]);
  }
  for (const TokenDecoder& step : parts_->decoder) step(tokens);
  std::string made;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && parts_->decoder.empty()) made += ' ';
    made += tokens[i];
  }
  return made;
}

}  // namespace veldt::data
