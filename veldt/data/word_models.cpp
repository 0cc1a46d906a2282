// WordPiece, whole words, and Unigram.
#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/data/prefix_tree.h"
#include "veldt/data/subword_model.h"
#include "veldt/data/unicode.h"

namespace veldt::data {
namespace {

// Longer tokens would make time grow with the square of a text's length.
constexpr std::size_t kMaxToken = 1024;

PrefixTree tree_of(const Vocabulary& vocabulary) {
  std::vector<std::pair<std::string_view, std::int64_t>> entries;
  entries.reserve(vocabulary.ids.size());
  for (const auto& [token, id] : vocabulary.ids) {
    if (token.size() > kMaxToken)
      throw ConfigError(str("the token \"", token.substr(0, 40), "..\" has ", token.size(), " bytes"),
                        str("this model looks for tokens of up to ", kMaxToken, " bytes"), "leave it out");
    entries.push_back({token, id});
  }
  return PrefixTree(std::move(entries));
}

class WordPieceModel final : public SubwordModel {
 public:
  WordPieceModel(VocabularyPtr vocabulary, WordPieceOptions o)
      : vocabulary_(std::move(vocabulary)), options_(std::move(o)), tree_(tree_of(*vocabulary_)) {
    continued_ = PrefixTree::kRoot;
    for (const char c : options_.prefix)
      if (continued_ != PrefixTree::kNowhere) continued_ = tree_.next(continued_, c);
  }

  void encode(std::string_view word, std::vector<WordToken>& into) const override {
    const std::size_t first = into.size();
    bool is_known = word.size() <= static_cast<std::size_t>(options_.max_characters) ||
                    count_characters(word) <= static_cast<std::size_t>(options_.max_characters);
    for (std::size_t at = 0; is_known && at < word.size();) {
      PrefixTree::Node node = at == 0 ? PrefixTree::kRoot : continued_;
      std::int64_t id = -1;
      std::size_t end = at;
      for (std::size_t i = at; i < word.size() && node != PrefixTree::kNowhere; ++i) {
        node = tree_.next(node, word[i]);
        if (node == PrefixTree::kNowhere || tree_.number(node) < 0) continue;
        id = tree_.number(node);
        end = i + 1;
      }
      is_known = id >= 0;
      if (is_known) into.push_back({id, at, end});
      at = end;
    }
    if (is_known) return;
    into.resize(first);
    into.push_back({options_.unknown, 0, word.size()});
  }

 private:
  VocabularyPtr vocabulary_;
  WordPieceOptions options_;
  PrefixTree tree_;
  PrefixTree::Node continued_;  // where tokens begin that continue a word
};

class WordLevelModel final : public SubwordModel {
 public:
  WordLevelModel(VocabularyPtr vocabulary, std::optional<std::int64_t> unknown)
      : vocabulary_(std::move(vocabulary)), unknown_(unknown) {}

  void encode(std::string_view word, std::vector<WordToken>& into) const override {
    const auto id = vocabulary_->id(std::string(word));
    if (!id && !unknown_)
      throw ConfigError(str("the word \"", word.substr(0, 40), "\" is no token"),
                        "the tokenizer has no token for what it does not know",
                        "add the word, or an unk_token");
    into.push_back({id ? *id : *unknown_, 0, word.size()});
  }

 private:
  VocabularyPtr vocabulary_;
  std::optional<std::int64_t> unknown_;
};

class UnigramModel final : public SubwordModel {
 public:
  UnigramModel(VocabularyPtr vocabulary, std::vector<double> scores, UnigramOptions o)
      : vocabulary_(std::move(vocabulary)),
        scores_(std::move(scores)),
        options_(o),
        tree_(tree_of(*vocabulary_)) {
    constexpr double kPenalty = 10;  // SentencePiece's, below the least likely token
    unknown_score_ = scores_.empty() ? 0 : *std::min_element(scores_.begin(), scores_.end()) - kPenalty;
    if (options_.byte_fallback) bytes_ = byte_tokens(*vocabulary_);
  }

  void encode(std::string_view word, std::vector<WordToken>& into) const override {
    std::vector<WordToken> path;  // from the end
    const std::vector<Best> best = best_ends(word);
    for (std::size_t end = word.size(); end > 0; end = best[end].from) {
      if (best[end].id == kUnknown && !path.empty() && path.back().id == kUnknown)
        path.back().begin = best[end].from;  // neighbours that are unknown are one
      else
        path.push_back({best[end].id, best[end].from, end});
    }
    std::reverse(path.begin(), path.end());
    for (const WordToken& token : path) {
      if (token.id != kUnknown) {
        into.push_back(token);
        continue;
      }
      const std::string_view part = word.substr(token.begin, token.end - token.begin);
      if (const auto id = vocabulary_->id(std::string(part))) {  // the unknown token, written out
        into.push_back({*id, token.begin, token.end});
        continue;
      }
      const auto token_of = [&](char c) { return bytes_[static_cast<unsigned char>(c)]; };
      if (!bytes_.empty() && std::all_of(part.begin(), part.end(), [&](char c) { return token_of(c) >= 0; }))
        for (const char c : part) into.push_back({token_of(c), token.begin, token.end});
      else
        into.push_back({*options_.unknown, token.begin, token.end});
    }
  }

 private:
  static constexpr std::int64_t kUnknown = -1;
  struct Best {  // of the ways to end here
    double score = 0;
    std::int64_t id = kUnknown;
    std::size_t from = 0;
    bool is_reached = false;
  };

  std::vector<Best> best_ends(std::string_view word) const {
    std::vector<Best> best(word.size() + 1);
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t character = character_at(word, at).bytes;
      const auto offer = [&](std::size_t end, std::int64_t id, double score) {
        if (best[end].is_reached && best[at].score + score <= best[end].score) return;
        best[end] = {best[at].score + score, id, at, true};
      };
      bool has_character = false;
      PrefixTree::Node node = PrefixTree::kRoot;
      for (std::size_t i = at; i < word.size(); ++i) {
        node = tree_.next(node, word[i]);
        if (node == PrefixTree::kNowhere) break;
        const std::int64_t id = tree_.number(node);
        if (id < 0) continue;
        offer(i + 1, options_.unknown == id ? kUnknown : id, scores_[static_cast<std::size_t>(id)]);
        has_character = has_character || i + 1 == at + character;
      }
      if (!has_character) {
        if (!options_.unknown)
          throw ConfigError(str("the text has \"", word.substr(at, character), "\", which no token holds"),
                            "the tokenizer has no token for what it does not know",
                            "leave it out of the text");
        offer(at + character, kUnknown, unknown_score_);
      }
      at += character;
    }
    return best;
  }

  VocabularyPtr vocabulary_;
  std::vector<double> scores_;
  UnigramOptions options_;
  PrefixTree tree_;
  double unknown_score_ = 0;
  std::vector<std::int64_t> bytes_;  // empty without byte_fallback
};

}  // namespace

std::unique_ptr<SubwordModel> word_piece_model(VocabularyPtr vocabulary, WordPieceOptions options) {
  return std::make_unique<WordPieceModel>(std::move(vocabulary), std::move(options));
}

std::unique_ptr<SubwordModel> word_level_model(VocabularyPtr vocabulary,
                                               std::optional<std::int64_t> unknown) {
  return std::make_unique<WordLevelModel>(std::move(vocabulary), unknown);
}

std::unique_ptr<SubwordModel> unigram_model(VocabularyPtr vocabulary, std::vector<double> scores,
                                            UnigramOptions options) {
  return std::make_unique<UnigramModel>(std::move(vocabulary), std::move(scores), options);
}

}  // namespace veldt::data
