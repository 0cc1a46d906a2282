// Reads a tokenizer.json. Everything in it is used or refused: a key that is not known, with a value, is an
// error that names it.
#include <nlohmann/json.hpp>

#include <limits>

#include "veldt/core/error.h"
#include "veldt/data/subword_json.h"
#include "veldt/data/subword_tokenizer.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"

namespace veldt::data {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxFile = std::size_t{64} << 20;

const Json& json_of(const JsonPart& part) { return *static_cast<const Json*>(part.json()); }

std::optional<Truncation> truncation_of(JsonPart part) {
  if (part.is_null()) return std::nullopt;
  Truncation made;
  part.ignore({"stride"});  // of the parts that are cut away, which are not kept
  made.max_length = part["max_length"].number(0, std::numeric_limits<std::int64_t>::max());
  made.strategy =
      static_cast<Truncation::Strategy>(part["strategy"].choice({"LongestFirst", "OnlyFirst", "OnlySecond"}));
  if (const JsonPart side = part["direction"]; !side.is_null())
    made.direction = static_cast<Side>(side.choice({"Left", "Right"}));
  part.finish();
  return made;
}

std::optional<Padding> padding_of(JsonPart part, Ids ids) {
  if (part.is_null()) return std::nullopt;
  Padding made;
  part.ignore({"pad_token"});  // the number says which
  if (JsonPart strategy = part["strategy"]; json_of(strategy).is_object())
    made.length = strategy["Fixed"].number(0, kMaxTokens);
  else
    strategy.choice({"BatchLongest"});
  if (const JsonPart multiple = part["pad_to_multiple_of"]; !multiple.is_null())
    made.multiple_of = multiple.number(0, kMaxTokens);
  made.id = ids.of(part["pad_id"]);
  made.type_id = part["pad_type_id"].number(0, kMaxTokens);
  made.direction = static_cast<Side>(part["direction"].choice({"Left", "Right"}));
  part.finish();
  return made;
}

// Reads the model, and the vocabulary that it has with the added tokens.
class ModelReader {
 public:
  ModelReader(JsonPart model, std::shared_ptr<Vocabulary> vocabulary, Ids ids)
      : model_(std::move(model)), vocabulary_(std::move(vocabulary)), ids_(ids) {}

  std::unique_ptr<SubwordModel> read() {
    std::string type = model_["type"].text("");
    if (type.empty()) type = json_of(model_).contains("merges") ? "BPE" : "WordPiece";  // old files have none
    auto made = type == "BPE"         ? bpe()
                : type == "WordPiece" ? word_piece()
                : type == "WordLevel" ? word_level()
                : type == "Unigram"   ? unigram()
                                      : nullptr;
    if (made == nullptr) model_.refuse_type();
    model_.finish();
    return made;
  }

 private:
  void add(const std::string& token, std::int64_t id) {
    vocabulary_->ids[token] = id;
    const auto place = static_cast<std::size_t>(id);
    if (place >= vocabulary_->tokens.size()) vocabulary_->tokens.resize(place + 1);
    vocabulary_->tokens[place] = token;
  }

  void read_vocabulary() {
    const JsonPart vocab = model_["vocab"];
    if (!json_of(vocab).is_object()) vocab.refuse("is not an object");
    for (const auto& [token, number] : json_of(vocab).items()) {
      const auto id = io::whole_number<std::int64_t>(number);
      if (!id || *id < 0 || *id > ids_.most)
        vocab.refuse(str("has for \"", token.substr(0, 40), "\" no number from 0 to ", ids_.most));
      add(token, *id);
    }
  }

  std::optional<std::int64_t> unknown() {
    const JsonPart token = model_["unk_token"];
    return token.is_null() ? std::nullopt : vocabulary_->id(token.text());
  }
  std::int64_t needed_unknown() {
    const auto id = unknown();
    if (!id) model_["unk_token"].refuse("is not in the vocabulary");
    return *id;
  }

  std::unique_ptr<SubwordModel> bpe() {
    read_vocabulary();
    if (const JsonPart dropout = model_["dropout"]; !dropout.is_null() && json_of(dropout) != 0.0)
      dropout.refuse("is not 0: a tokenizer that leaves out merges by chance is for training it");
    std::vector<std::pair<std::string, std::string>> merges;
    const JsonPart list = model_["merges"];
    if (!json_of(list).is_array()) list.refuse("is not a list");
    merges.reserve(json_of(list).size());
    for (const Json& merge : json_of(list)) {
      if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        merges.emplace_back(merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>());
        continue;
      }
      const std::string both = merge.is_string() ? merge.get<std::string>() : std::string();  // "left right"
      const std::size_t blank = both.find(' ');
      if (blank == both.npos || both.find(' ', blank + 1) != both.npos)
        list.refuse(str("has at ", merges.size(), " what is no pair of tokens"));
      merges.emplace_back(both.substr(0, blank), both.substr(blank + 1));
    }
    BpeOptions o;
    o.unknown = model_["unk_token"].is_null() ? std::nullopt : std::optional(needed_unknown());
    o.continuing_subword_prefix = model_["continuing_subword_prefix"].text("");
    o.end_of_word_suffix = model_["end_of_word_suffix"].text("");
    o.fuse_unknown = model_["fuse_unk"].flag(false);
    o.byte_fallback = model_["byte_fallback"].flag(false);
    o.ignore_merges = model_["ignore_merges"].flag(false);
    return list.checked([&] { return bpe_model(vocabulary_, merges, o); });
  }

  std::unique_ptr<SubwordModel> word_piece() {
    read_vocabulary();
    WordPieceOptions o;
    o.unknown = needed_unknown();
    o.prefix = model_["continuing_subword_prefix"].text("##");
    if (const JsonPart most = model_["max_input_chars_per_word"]; !most.is_null())
      o.max_characters = most.number(0, std::numeric_limits<std::int64_t>::max());
    return model_["vocab"].checked([&] { return word_piece_model(vocabulary_, o); });
  }

  std::unique_ptr<SubwordModel> word_level() {
    read_vocabulary();
    return word_level_model(vocabulary_, unknown());
  }

  std::unique_ptr<SubwordModel> unigram() {
    const JsonPart vocab = model_["vocab"];
    std::vector<double> scores;
    if (!json_of(vocab).is_array()) vocab.refuse("is not a list");
    for (const Json& entry : json_of(vocab)) {  // ["the", -3.2]
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
        vocab.refuse(str("has at ", scores.size(), " what is no token with a score"));
      add(entry[0].get_ref<const std::string&>(), std::ssize(scores));
      scores.push_back(entry[1].get<double>());
    }
    UnigramOptions o;
    if (const JsonPart unk = model_["unk_id"]; !unk.is_null())
      o.unknown = unk.number(0, std::ssize(scores) - 1);
    o.byte_fallback = model_["byte_fallback"].flag(false);
    return vocab.checked([&] { return unigram_model(vocabulary_, scores, o); });
  }

  JsonPart model_;
  std::shared_ptr<Vocabulary> vocabulary_;
  Ids ids_;
};

AddedToken added_token_of(JsonPart part, Ids ids) {
  AddedToken made;
  made.id = ids.of(part["id"]);
  made.content = part["content"].text();
  made.single_word = part["single_word"].flag(false);
  made.lstrip = part["lstrip"].flag(false);
  made.rstrip = part["rstrip"].flag(false);
  made.special = part["special"].flag(false);
  made.normalized = part["normalized"].flag(!made.special);
  if (made.content.size() > 1024) part.refuse("has a content of more than a kilobyte");
  part.finish();
  return made;
}

// An added token as it is looked for, and decoded.
std::string looked_for(const AddedToken& token, const Normalizer& normalizer) {
  AlignedText content = AlignedText::of(token.content, 0);
  if (token.normalized && normalizer) normalizer(content);
  return content.text;
}

// The added tokens, normalised ones or the others.
PrefixTree added_tree(const std::vector<AddedToken>& added, bool normalized, const Normalizer& normalizer) {
  std::vector<std::string> contents(added.size());
  std::vector<std::pair<std::string_view, std::int64_t>> entries;
  for (std::size_t i = added.size(); i-- > 0;) {  // of equal ones the first counts
    if (added[i].normalized != normalized) continue;
    contents[i] = looked_for(added[i], normalizer);
    entries.push_back({contents[i], static_cast<std::int64_t>(i)});
  }
  return PrefixTree(std::move(entries));
}

}  // namespace

SubwordTokenizer SubwordTokenizer::load(const std::string& path) {
  return parse(io::read_file(path, kMaxFile), path);
}

SubwordTokenizer SubwordTokenizer::parse(std::string text, const std::string& where) {
  Json json;
  try {
    json = io::parse_json<Json>(text, io::kMaxJsonDepth, kMaxFile);
  } catch (const IoError& e) {
    JsonPart(&json, "", where).refuse(e.why());
  }
  JsonPart file(&json, "", where);
  if (!json.is_object()) file.refuse("it is not an object");
  file["version"];
  const Json& model_json = json_of(file["model"]);
  const std::size_t tokens =
      model_json.is_object() && model_json.contains("vocab") ? model_json["vocab"].size() : 0;
  const Ids ids{static_cast<std::int64_t>(2 * tokens + (1 << 16))};

  SubwordTokenizer made;
  const auto parts = std::make_shared<SubwordParts>();
  parts->vocabulary = std::make_shared<Vocabulary>();
  parts->model = ModelReader(file["model"], parts->vocabulary, ids).read();
  parts->normalizer = normalizer_of(file["normalizer"]);
  if (const JsonPart added = file["added_tokens"]; !added.is_null())
    for (const JsonPart& token : added.items()) {
      AddedToken read = added_token_of(token, ids);
      if (read.content.empty()) continue;
      // As Hugging Face does: a token that the model has keeps its number there.
      if (const auto known = parts->vocabulary->id(read.content)) read.id = *known;
      const auto place = static_cast<std::size_t>(read.id);
      std::vector<std::string>& all = parts->vocabulary->tokens;
      if (place >= all.size()) all.resize(place + 1);
      all[place] = looked_for(read, parts->normalizer);
      // Each place of a text may be held against all of it.
      if (all[place].size() > 1024) token.refuse("is normalised to more than a kilobyte");
      parts->vocabulary->ids[read.content] = read.id;
      if (read.special) parts->special.insert(read.id);
      parts->added_ids.insert(read.id);
      parts->added.push_back(std::move(read));
    }
  parts->pre_tokenizer = pre_tokenizer_of(file["pre_tokenizer"]);
  read_post_processor(file["post_processor"], ids, parts->post);
  read_decoder(file["decoder"], parts->decoder);
  parts->plain = added_tree(parts->added, false, parts->normalizer);
  parts->normalized = added_tree(parts->added, true, parts->normalizer);
  made.truncation_ = truncation_of(file["truncation"]);
  made.padding_ = padding_of(file["padding"], ids);
  file.finish();
  // What is looked up by number has to be there.
  const std::int64_t last = std::ssize(parts->vocabulary->tokens) - 1;
  for (const auto* list : {&parts->post.single, &parts->post.pair})
    for (const TemplatePart& part : *list)
      for (const std::int64_t id : part.ids)
        if (id > last) file["post_processor"].refuse(str("has the number ", id, ", which is no token"));
  parts->text = std::move(text);
  made.parts_ = parts;
  return made;
}

}  // namespace veldt::data
