// Learns byte pairs from a text, and writes them as a tokenizer.json.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <queue>

#include "veldt/core/error.h"
#include "veldt/data/bpe_alphabet.h"
#include "veldt/data/subword_tokenizer.h"
#include "veldt/data/unicode.h"
#include "veldt/io/json.h"

namespace veldt::data {
namespace {

using TokenizerJson = nlohmann::json;

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

// The bytes of the word that a text begins with: kWordPattern.
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

// The rule of word_length() as a regular expression.
constexpr const char* kWordPattern =
    R"('(?:[sdmt]|ll|ve|re)| ?[A-Za-z\x{80}-\x{10FFFF}]+| ?[0-9]+| ?[^\t-\r 0-9A-Za-z\x{80}-\x{10FFFF}]+)"
    R"(|[\t-\r ]+(?![^\t-\r ])|[\t-\r ]+)";

// Everything except the vocabulary and the merges; it is the same in all files.
TokenizerJson frame() {
  const TokenizerJson bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  const TokenizerJson words = {
      {"type", "Split"}, {"pattern", {{"Regex", kWordPattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", TokenizerJson::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", TokenizerJson::array({words, bytes})}}},
          {"post_processor", nullptr},
          {"decoder", bytes},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false}}}};
}

std::string in_letters(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) append(text, letter_of(static_cast<unsigned char>(c)));
  return text;
}

// The tokens that are made: the bytes, then the pairs.
struct Learned {
  std::vector<std::string> tokens;
  std::unordered_map<std::string, std::int64_t> ids;
  std::vector<std::pair<std::int64_t, std::int64_t>> merges;

  Learned() {
    for (const unsigned char byte : bytes_in_order()) add(std::string(1, static_cast<char>(byte)));
  }
  // The token of the two; a new one, unless another pair has already made it.
  std::int64_t merge(std::int64_t left, std::int64_t right) {
    merges.push_back({left, right});
    return add(token(left) + token(right));
  }
  const std::string& token(std::int64_t id) const { return tokens[static_cast<std::size_t>(id)]; }

 private:
  std::int64_t add(const std::string& token) {
    const auto [at, is_new] = ids.try_emplace(token, std::ssize(tokens));
    if (is_new) tokens.push_back(token);
    return at->second;
  }
};

std::string file_of(const Learned& learned) {
  TokenizerJson file = frame();
  TokenizerJson vocabulary = TokenizerJson::object(), merges = TokenizerJson::array();
  for (const auto& [token, id] : learned.ids) vocabulary[in_letters(token)] = id;
  for (const auto& [left, right] : learned.merges)
    merges.push_back({in_letters(learned.token(left)), in_letters(learned.token(right))});
  file["model"]["vocab"] = std::move(vocabulary);
  file["model"]["merges"] = std::move(merges);
  return io::dump_json(file, 1) + "\n";
}

}  // namespace

SubwordTokenizer SubwordTokenizer::train_bpe(std::string_view text, std::int64_t vocabulary_size) {
  if (vocabulary_size < kBytes || vocabulary_size > std::numeric_limits<std::int32_t>::max())
    throw ConfigError(str("a vocabulary of bytes cannot have ", vocabulary_size, " tokens"),
                      "the 256 bytes are tokens, so that any text has numbers", "give 256 or more");
  Learned learned;
  Pairs pairs(text);
  while (std::ssize(learned.tokens) < vocabulary_size) {
    const Pairs::Pair best = pairs.take_most_frequent();
    if (best.count < kLeastCount) break;
    pairs.merge(best, learned.merge(best.left, best.right));
  }
  return parse(file_of(learned), "that was trained");
}

}  // namespace veldt::data
