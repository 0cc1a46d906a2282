// Byte pair encoding of a word.
#include <algorithm>
#include <functional>
#include <queue>

#include "veldt/core/error.h"
#include "veldt/data/bpe_alphabet.h"
#include "veldt/data/subword_model.h"
#include "veldt/data/unicode.h"

namespace veldt::data {
namespace {

class BpeModel final : public SubwordModel {
 public:
  BpeModel(VocabularyPtr vocabulary, const std::vector<std::pair<std::string, std::string>>& merges,
           BpeOptions options)
      : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {
    merges_.reserve(merges.size());
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const auto& [left, right] = merges[i];
      const auto number = [&](const std::string& token) {
        const auto id = vocabulary_->id(token);
        if (!id)
          throw ConfigError(str("merge ", i, " joins or makes \"", token.substr(0, 40), '"'),
                            "the vocabulary has no such token",
                            "give merges and vocabulary of one tokenizer");
        return *id;
      };
      const std::string& prefix = options_.continuing_subword_prefix;
      const bool has_prefix = !prefix.empty() && right.starts_with(prefix);
      const std::string both = left + (has_prefix ? right.substr(prefix.size()) : right);
      merges_.insert_or_assign(key_of(number(left), number(right)), Merge{i, number(both)});
    }
    if (options_.byte_fallback) bytes_ = byte_tokens(*vocabulary_);
  }

  void encode(std::string_view word, std::vector<WordToken>& into) const override {
    if (options_.ignore_merges)
      if (const auto id = vocabulary_->id(std::string(word))) {
        into.push_back({*id, 0, word.size()});
        return;
      }
    std::vector<Symbol> symbols = characters_of(word);
    merge(symbols);
    for (std::size_t i = 0; i < symbols.size(); i = symbols[i].next)
      into.push_back({symbols[i].token, symbols[i].begin, symbols[i].end});
  }

 private:
  struct Merge {
    std::size_t rank;
    std::int64_t token;
  };
  struct Symbol {
    std::int64_t token;  // -1: merged into the one before
    std::size_t previous, next, begin, end;
  };
  struct Unknown {
    std::size_t begin, end;
  };

  std::vector<Symbol> characters_of(std::string_view word) const {
    std::vector<Symbol> symbols;
    const auto add = [&](std::int64_t token, std::size_t begin, std::size_t end) {
      symbols.push_back({token, symbols.size() - 1, symbols.size() + 1, begin, end});
    };
    std::optional<Unknown> unknown;
    const auto end_unknown = [&] {
      if (unknown) add(*options_.unknown, unknown->begin, unknown->end);
      unknown.reset();
    };
    std::string token;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t end = at + character_at(word, at).bytes;
      token.assign(at == 0 ? std::string_view() : options_.continuing_subword_prefix);
      token += word.substr(at, end - at);
      if (end == word.size()) token += options_.end_of_word_suffix;
      if (const auto id = vocabulary_->id(token)) {
        end_unknown();
        add(*id, at, end);
      } else if (has_bytes(token)) {
        for (std::size_t i = 0; i < token.size(); ++i)
          add(bytes_[static_cast<unsigned char>(token[i])], std::min(at + i, end - 1),
              std::min(at + i + 1, end));
      } else if (options_.unknown) {
        if (unknown && options_.fuse_unknown) {
          unknown->end = end;
        } else {
          end_unknown();
          unknown = Unknown{at, end};
        }
      }  // else it is left out, as Hugging Face does
      at = end;
    }
    end_unknown();
    return symbols;
  }

  bool has_bytes(std::string_view token) const {
    if (bytes_.empty()) return false;
    for (const char c : token)
      if (bytes_[static_cast<unsigned char>(c)] < 0) return false;
    return true;
  }

  // Joins neighbours, the lowest rank first and ties from the left; each merge costs only what it changes.
  void merge(std::vector<Symbol>& symbols) const {
    using Place = std::pair<std::size_t, std::size_t>;  // rank, position
    std::priority_queue<Place, std::vector<Place>, std::greater<>> queue;
    const auto merge_at = [&](std::size_t at) -> const Merge* {
      if (at >= symbols.size() || symbols[at].next >= symbols.size()) return nullptr;
      const auto found = merges_.find(key_of(symbols[at].token, symbols[symbols[at].next].token));
      return found == merges_.end() ? nullptr : &found->second;
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
      symbols[at].end = gone.end;
      gone.token = -1;
      if (symbols[at].next < symbols.size()) symbols[symbols[at].next].previous = at;
      push(at);
      push(symbols[at].previous);
    }
  }

  VocabularyPtr vocabulary_;
  BpeOptions options_;
  std::unordered_map<std::uint64_t, Merge> merges_;  // by pair
  std::vector<std::int64_t> bytes_;                  // empty without byte_fallback
};

}  // namespace

std::optional<std::int64_t> Vocabulary::id(const std::string& token) const {
  const auto at = ids.find(token);
  return at == ids.end() ? std::nullopt : std::optional(at->second);
}

std::vector<std::int64_t> byte_tokens(const Vocabulary& vocabulary) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::vector<std::int64_t> tokens;
  for (std::size_t byte = 0; byte < kBytes; ++byte)
    tokens.push_back(vocabulary.id(str("<0x", kDigits[byte / 16], kDigits[byte % 16], '>')).value_or(-1));
  return tokens;
}

std::unique_ptr<SubwordModel> bpe_model(VocabularyPtr vocabulary,
                                        const std::vector<std::pair<std::string, std::string>>& merges,
                                        BpeOptions options) {
  return std::make_unique<BpeModel>(std::move(vocabulary), merges, std::move(options));
}

}  // namespace veldt::data
