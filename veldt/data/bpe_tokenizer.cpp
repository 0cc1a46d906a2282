// The byte pair encoding of tokenizer.h; bpe_file.cpp has its file.
#include <algorithm>
#include <limits>
#include <queue>

#include "veldt/core/error.h"
#include "veldt/data/bpe_alphabet.h"
#include "veldt/data/tokenizer.h"

namespace veldt::data {
namespace {

constexpr std::int64_t kLeastCount = 2;  // of a pair that becomes a token

constexpr std::array<std::int64_t, kBytes> tokens_of_bytes() {
  std::array<std::int64_t, kBytes> tokens{};
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[bytes_in_order()[i]] = static_cast<std::int64_t>(i);
  return tokens;
}
constexpr std::array<std::int64_t, kBytes> kTokenOfByte = tokens_of_bytes();

std::int64_t token_of(char byte) { return kTokenOfByte[static_cast<unsigned char>(byte)]; }

enum class Kind { letter, digit, space, mark };

Kind kind_of(char c) {
  if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80)
    return Kind::letter;
  if (c >= '0' && c <= '9') return Kind::digit;
  return c == ' ' || (c >= '\t' && c <= '\r') ? Kind::space : Kind::mark;
}

// The bytes of the word that a text begins with: kWordPattern of bpe_file.cpp.
std::size_t word_length(std::string_view text) {
  for (const std::string_view end : {"'s", "'d", "'m", "'t", "'ll", "'ve", "'re"})
    if (text.starts_with(end)) return end.size();
  const auto run = [text](std::size_t from) {
    std::size_t to = from;
    while (to < text.size() && kind_of(text[to]) == kind_of(text[from])) ++to;
    return to;
  };
  const std::size_t begin = text.starts_with(' ') && text.size() > 1 ? 1 : 0;
  if (kind_of(text[begin]) != Kind::space) return run(begin);
  const std::size_t spaces = run(0);
  // The last space belongs to the next word, if that takes one.
  return spaces < text.size() && spaces > 1 ? spaces - 1 : spaces;
}

template <class Each> void for_each_word(std::string_view text, const Each& each) {
  while (!text.empty()) {
    const std::size_t length = word_length(text);
    each(text.substr(0, length));
    text.remove_prefix(length);
  }
}

// The words of a text as tokens linked to their neighbours, so that a merge only costs as much as it changes.
class Pairs {
 public:
  struct Pair {
    std::int64_t count, left, right;
    // The queue begins with the most frequent pair; ties go to smaller numbers.
    bool operator<(const Pair& b) const {
      return count != b.count ? count < b.count : std::pair(left, right) > std::pair(b.left, b.right);
    }
  };

  explicit Pairs(std::string_view text) {
    std::unordered_map<std::string_view, std::size_t> index_of;
    std::vector<std::pair<std::string_view, std::int64_t>> words;  // in the order of the text
    for_each_word(text, [&](std::string_view word) {
      const auto [at, is_new] = index_of.try_emplace(word, words.size());
      if (is_new) words.push_back({word, 0});
      ++words[at->second].second;
    });
    for (const auto& [word, count] : words)
      for (std::size_t i = 0; i < word.size(); ++i) {
        const Place at = std::ssize(spots_);
        spots_.push_back(
            {token_of(word[i]), count, i > 0 ? at - 1 : kNone, i + 1 < word.size() ? at + 1 : kNone});
        if (i > 0) change(token_of(word[i - 1]), token_of(word[i]), count, at - 1);
      }
    push_grown();
  }

  // The pair that occurs most often; its count is 0 if there is none.
  Pair take_most_frequent() {
    while (!queue_.empty()) {
      Pair first = queue_.top();
      queue_.pop();
      const std::int64_t now = found_.at(key_of(first.left, first.right)).count;
      if (now == first.count) return first;
      if (now > 0 && now < first.count) queue_.push({now, first.left, first.right});
    }
    return {0, 0, 0};
  }

  void merge(const Pair& pair, std::int64_t token) {
    Found& found = found_.at(key_of(pair.left, pair.right));
    std::vector<Place> places = std::move(found.places);
    std::sort(places.begin(), places.end());
    for (const Place at : places) {
      Spot& left = spot(at);
      if (left.token != pair.left || left.next == kNone || spot(left.next).token != pair.right) continue;
      Spot& right = spot(left.next);
      if (left.previous != kNone) {
        change(spot(left.previous).token, pair.left, -left.count, kNone);
        change(spot(left.previous).token, token, left.count, left.previous);
      }
      if (right.next != kNone) {
        change(pair.right, spot(right.next).token, -left.count, kNone);
        change(token, spot(right.next).token, left.count, at);
        spot(right.next).previous = at;
      }
      left.token = token;
      left.next = right.next;
      right.token = kNone;
    }
    found_.at(key_of(pair.left, pair.right)) = {};
    push_grown();
  }

 private:
  using Place = std::int64_t;
  static constexpr std::int64_t kNone = -1;
  struct Spot {
    std::int64_t token, count;  // how often the word occurs
    Place previous, next;       // within the word
  };
  struct Found {
    std::int64_t count = 0;
    std::vector<Place> places;  // of the left token; some are out of date
  };

  Spot& spot(Place at) { return spots_[static_cast<std::size_t>(at)]; }

  void change(std::int64_t left, std::int64_t right, std::int64_t by, Place at) {
    Found& found = found_[key_of(left, right)];
    found.count += by;
    if (at == kNone) return;
    found.places.push_back(at);
    grown_.push_back({left, right});
  }

  void push_grown() {
    std::sort(grown_.begin(), grown_.end());
    grown_.erase(std::unique(grown_.begin(), grown_.end()), grown_.end());
    for (const auto& [left, right] : grown_)
      if (const std::int64_t count = found_.at(key_of(left, right)).count; count > 0)
        queue_.push({count, left, right});
    grown_.clear();
  }

  std::vector<Spot> spots_;
  std::unordered_map<std::uint64_t, Found> found_;
  std::vector<std::pair<std::int64_t, std::int64_t>> grown_;
  std::priority_queue<Pair> queue_;  // a pair that has become rarer is updated when it comes first
};

}  // namespace

BpeTokenizer::BpeTokenizer() {
  for (const unsigned char byte : bytes_in_order()) {
    numbers_[std::string(1, static_cast<char>(byte))] = size();
    tokens_.emplace_back(1, static_cast<char>(byte));
  }
}

std::int64_t BpeTokenizer::add_merge(std::int64_t left, std::int64_t right) {
  const std::string both = tokens_[static_cast<std::size_t>(left)] + tokens_[static_cast<std::size_t>(right)];
  const auto [at, is_new] = numbers_.try_emplace(both, size());
  if (is_new) tokens_.push_back(both);
  merge_of_[key_of(left, right)] = {std::ssize(merges_), at->second};
  merges_.push_back({left, right});
  return at->second;
}

BpeTokenizer BpeTokenizer::train(std::string_view text, std::int64_t vocabulary_size) {
  if (vocabulary_size < kBytes || vocabulary_size > std::numeric_limits<std::int32_t>::max())
    throw ConfigError(str("a vocabulary of bytes cannot have ", vocabulary_size, " tokens"),
                      "the 256 bytes are tokens, so that any text has numbers", "give 256 or more");
  BpeTokenizer tokenizer;
  Pairs pairs(text);
  while (tokenizer.size() < vocabulary_size) {
    const Pairs::Pair best = pairs.take_most_frequent();
    if (best.count < kLeastCount) break;
    pairs.merge(best, tokenizer.add_merge(best.left, best.right));
  }
  return tokenizer;
}

void BpeTokenizer::encode_word(std::string_view word, std::vector<std::int64_t>& numbers) const {
  struct Symbol {
    std::int64_t token;
    std::size_t previous, next;
  };
  std::vector<Symbol> symbols;
  for (const char c : word) symbols.push_back({token_of(c), symbols.size() - 1, symbols.size() + 1});
  // (rank, position): the lowest rank first, ties from the left.
  std::priority_queue<std::pair<std::int64_t, std::size_t>, std::vector<std::pair<std::int64_t, std::size_t>>,
                      std::greater<>>
      queue;
  const auto merge_at = [&](std::size_t at) -> const Merge* {
    if (at >= symbols.size() || symbols[at].next >= symbols.size()) return nullptr;
    const auto found = merge_of_.find(key_of(symbols[at].token, symbols[symbols[at].next].token));
    return found == merge_of_.end() ? nullptr : &found->second;
  };
  const auto push = [&](std::size_t at) {
    if (const Merge* merge = merge_at(at)) queue.push({merge->rank, at});
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) push(i);
  while (!queue.empty()) {
    const auto [rank, at] = queue.top();
    queue.pop();
    const Merge* merge = symbols[at].token < 0 ? nullptr : merge_at(at);
    if (!merge || merge->rank != rank) continue;  // a neighbour has changed since
    Symbol& gone = symbols[symbols[at].next];
    symbols[at].token = merge->token;
    symbols[at].next = gone.next;
    gone.token = -1;
    if (symbols[at].next < symbols.size()) symbols[symbols[at].next].previous = at;
    push(at);
    push(symbols[at].previous);
  }
  for (std::size_t i = 0; i < symbols.size(); i = symbols[i].next) numbers.push_back(symbols[i].token);
}

Tensor BpeTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> numbers;
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> seen;  // where in `numbers`
  for_each_word(text, [&](std::string_view word) {
    const auto [at, is_new] = seen.try_emplace(word, numbers.size(), 0);
    if (is_new) {
      encode_word(word, numbers);
      at->second.second = numbers.size();
      return;
    }
    const auto [begin, end] = at->second;
    for (std::size_t i = begin; i < end; ++i) numbers.push_back(numbers[i]);
  });
  return Tensor::from<std::int64_t>({std::ssize(numbers)}, numbers);
}

}  // namespace veldt::data
