// Reads a tokenizer.json. Everything in it is used or refused: a key that is not known, with a value, is an
// error that names it.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

#include "veldt/core/error.h"
#include "veldt/data/subword_parts.h"
#include "veldt/data/subword_tokenizer.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"

namespace veldt::data {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxFile = std::size_t{64} << 20;
constexpr std::int64_t kMaxLength = 1 << 20;  // of a padded text

// A part of the file, with where it is: "pre_tokenizer.pretokenizers.0".
class Part {
 public:
  Part(const Json& json, std::string at, const std::string& file)
      : json_(json), at_(std::move(at)), file_(file) {}

  [[noreturn]] void refuse(const std::string& why) const {
    throw IoError(IoError::Kind::malformed, str("cannot read the tokenizer ", file_),
                  at_.empty() ? why : str('"', at_, "\" ", why),
                  "give a tokenizer.json with what Veldt knows");
  }
  const Json& json() const { return json_; }
  bool is_null() const { return json_.is_null(); }

  // The object's members; each has to be asked for, or finish() refuses it.
  Part operator[](const std::string& key) {
    if (!json_.is_object()) refuse("is not an object");
    known_.insert(key);
    static const Json kNull;
    const auto found = json_.find(key);
    return Part(found == json_.end() ? kNull : *found, at_.empty() ? key : at_ + "." + key, file_);
  }
  void ignore(std::initializer_list<const char*> keys) { known_.insert(keys.begin(), keys.end()); }
  void finish() const {
    for (const auto& [key, value] : json_.items())
      if (!known_.contains(key) && !value.is_null())
        refuse(str("has \"", key.substr(0, 80), "\", which is unknown"));
  }
  std::vector<Part> items() const {
    if (!json_.is_array()) refuse("is not a list");
    std::vector<Part> parts;
    for (std::size_t i = 0; i < json_.size(); ++i) parts.emplace_back(json_[i], str(at_, '.', i), file_);
    return parts;
  }

  const std::string& text() const {
    if (!json_.is_string()) refuse("is not a text");
    return json_.get_ref<const std::string&>();
  }
  std::string text(const std::string& otherwise) const { return is_null() ? otherwise : text(); }
  bool flag(bool otherwise) const {
    if (is_null()) return otherwise;
    if (!json_.is_boolean()) refuse("is not true or false");
    return json_.get<bool>();
  }
  std::int64_t number(std::int64_t least, std::int64_t most) const {
    const auto value = io::whole_number<std::int64_t>(json_);
    if (!value || *value < least || *value > most) refuse(str("is not a number from ", least, " to ", most));
    return *value;
  }
  char32_t character() const {
    if (text().empty() || character_at(text(), 0).bytes != text().size()) refuse("is not one character");
    return character_at(text(), 0).code;
  }
  // The place of the text among the names.
  std::size_t choice(std::initializer_list<std::string_view> names) const {
    const auto at = std::find(names.begin(), names.end(), text());
    if (at == names.end()) refuse(str("is \"", text().substr(0, 80), "\", which is unknown"));
    return static_cast<std::size_t>(at - names.begin());
  }
  [[noreturn]] void refuse_type() {
    (*this)["type"].refuse(str("is \"", (*this)["type"].text().substr(0, 80), "\", which is unknown"));
  }
  // Calls make(), and refuses with this place what it finds wrong.
  template <class Make> auto checked(const Make& make) const {
    try {
      return make();
    } catch (const ConfigError& e) {
      refuse(str("is wrong: ", e.summary(), ": ", e.why()));
    }
  }

 private:
  const Json& json_;
  std::string at_;
  const std::string& file_;
  std::set<std::string> known_;
};

// {"String": text} or {"Regex": expression}
Matcher pattern_of(Part part) {
  if (part.json().is_string()) return matcher(part.text());
  if (Part plain = part["String"]; !plain.is_null()) return matcher(plain.text());
  Part expression = part["Regex"];
  part.finish();
  return expression.checked([&] { return matcher(Regex(expression.text())); });
}

Prepend prepend_of(Part& part) {
  const Part scheme = part["prepend_scheme"], legacy = part["add_prefix_space"];
  const bool prepends = legacy.flag(true);
  if (scheme.is_null()) return prepends ? Prepend::always : Prepend::never;
  return std::array{Prepend::always, Prepend::first,
                    Prepend::never}[scheme.choice({"always", "first", "never"})];
}

std::string from_base64(const Part& part) {
  std::string bytes;
  unsigned bits = 0, held = 0;
  for (const char c : part.text()) {
    if (c == '=') break;
    const unsigned value = c >= 'A' && c <= 'Z'   ? static_cast<unsigned>(c - 'A')
                           : c >= 'a' && c <= 'z' ? static_cast<unsigned>(c - 'a' + 26)
                           : c >= '0' && c <= '9' ? static_cast<unsigned>(c - '0' + 52)
                           : c == '+'             ? 62u
                           : c == '/'             ? 63u
                                                  : 64u;
    if (value > 63) part.refuse("is not base64");
    bits = bits << 6 | value;
    if ((held += 6) >= 8) {
      held -= 8;
      bytes += static_cast<char>(bits >> held & 0xFF);
    }
  }
  return bytes;
}

Normalizer normalizer_of(Part part) {
  if (part.is_null()) return {};
  const std::string type = part["type"].text();
  const auto made = [&]() -> Normalizer {
    if (type == "Sequence") {
      std::vector<Normalizer> steps;
      for (const Part& step : part["normalizers"].items()) steps.push_back(normalizer_of(step));
      return [steps](AlignedText& text) {
        for (const Normalizer& step : steps)
          if (step) step(text);
      };
    }
    if (type == "BertNormalizer") {
      BertNormalizerOptions o;
      o.clean_text = part["clean_text"].flag(true);
      o.handle_chinese_chars = part["handle_chinese_chars"].flag(true);
      o.lowercase = part["lowercase"].flag(true);
      o.strip_accents = part["strip_accents"].flag(o.lowercase);
      return bert_normalizer(o);
    }
    if (type == "NFC") return unicode_normalizer(NormalForm::nfc);
    if (type == "NFD") return unicode_normalizer(NormalForm::nfd);
    if (type == "NFKC") return unicode_normalizer(NormalForm::nfkc);
    if (type == "NFKD") return unicode_normalizer(NormalForm::nfkd);
    if (type == "Lowercase") return lowercase_normalizer();
    if (type == "StripAccents") return strip_accents_normalizer();
    if (type == "Strip") {
      const bool left = part["strip_left"].flag(true);
      return strip_normalizer(left, part["strip_right"].flag(true));
    }
    if (type == "Replace") {
      Matcher pattern = pattern_of(part["pattern"]);
      return replace_normalizer(std::move(pattern), part["content"].text());
    }
    if (type == "Prepend") return prepend_normalizer(part["prepend"].text());
    if (type == "Nmt") return nmt_normalizer();
    if (type == "ByteLevel") return byte_level_normalizer();
    if (type == "Precompiled") {
      const Part map = part["precompiled_charsmap"];
      return map.checked([&] { return precompiled_normalizer(from_base64(map)); });
    }
    part.refuse_type();
  }();
  part.finish();
  return made;
}

Delimiter delimiter_of(const Part& part) {
  return static_cast<Delimiter>(
      part.choice({"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}));
}

PreTokenizer pre_tokenizer_of(Part part) {
  if (part.is_null()) return {};
  const std::string type = part["type"].text();
  const auto made = [&]() -> PreTokenizer {
    if (type == "Sequence") {
      std::vector<PreTokenizer> steps;
      for (const Part& step : part["pretokenizers"].items()) steps.push_back(pre_tokenizer_of(step));
      return [steps](Pieces& pieces) {
        for (const PreTokenizer& step : steps)
          if (step) step(pieces);
      };
    }
    if (type == "BertPreTokenizer") return bert_pre_tokenizer();
    if (type == "Whitespace") return whitespace_pre_tokenizer();
    if (type == "WhitespaceSplit") return whitespace_split_pre_tokenizer();
    if (type == "CharDelimiterSplit") {
      std::string delimiter;
      append(delimiter, part["delimiter"].character());
      return split_pre_tokenizer(matcher(delimiter), Delimiter::removed, false);
    }
    if (type == "ByteLevel") {
      part.ignore({"trim_offsets"});  // for the post-processor of that name
      const bool adds = part["add_prefix_space"].flag(true);
      return byte_level_pre_tokenizer(adds, part["use_regex"].flag(true));
    }
    if (type == "Metaspace") {
      part.ignore({"str_rep"});  // older files have it twice
      const Prepend prepend = prepend_of(part);
      const char32_t replacement = part["replacement"].character();
      return metaspace_pre_tokenizer(replacement, prepend, part["split"].flag(true));
    }
    if (type == "Split") {
      Matcher pattern = pattern_of(part["pattern"]);
      const Delimiter delimiter = delimiter_of(part["behavior"]);
      return split_pre_tokenizer(std::move(pattern), delimiter, part["invert"].flag(false));
    }
    if (type == "Digits") return digits_pre_tokenizer(part["individual_digits"].flag(false));
    if (type == "Punctuation") {
      const Part behavior = part["behavior"];
      return split_pre_tokenizer(matcher(is_punctuation),
                                 behavior.is_null() ? Delimiter::isolated : delimiter_of(behavior), false);
    }
    part.refuse_type();
  }();
  part.finish();
  return made;
}

void read_decoder(Part part, std::vector<TokenDecoder>& into) {
  if (part.is_null()) return;
  const std::string type = part["type"].text();
  if (type == "Sequence") {
    for (const Part& step : part["decoders"].items()) read_decoder(step, into);
  } else if (type == "ByteLevel") {
    part.ignore({"add_prefix_space", "trim_offsets", "use_regex"});  // for the other two of that name
    into.push_back(byte_level_decoder());
  } else if (type == "WordPiece") {
    const std::string prefix = part["prefix"].text("##");
    into.push_back(word_piece_decoder(prefix, part["cleanup"].flag(true)));
  } else if (type == "Metaspace") {
    part.ignore({"str_rep", "split"});
    const Prepend prepend = prepend_of(part);
    into.push_back(metaspace_decoder(part["replacement"].character(), prepend));
  } else if (type == "BPEDecoder") {
    into.push_back(bpe_decoder(part["suffix"].text("</w>")));
  } else if (type == "ByteFallback") {
    into.push_back(byte_fallback_decoder());
  } else if (type == "Fuse") {
    into.push_back(fuse_decoder());
  } else if (type == "Strip") {
    const char32_t content = part["content"].character();
    const std::int64_t start = part["start"].number(0, kMaxLength);
    into.push_back(strip_decoder(content, start, part["stop"].number(0, kMaxLength)));
  } else if (type == "Replace") {
    Matcher pattern = pattern_of(part["pattern"]);
    into.push_back(replace_decoder(std::move(pattern), part["content"].text()));
  } else {
    part.refuse_type();
  }
  part.finish();
}

// Numbers are below twice the number of tokens and some, so that a list of them is no larger than the file.
struct Ids {
  std::int64_t most;
  std::int64_t of(const Part& part) const { return part.number(0, most); }
};

// {"SpecialToken": {"id": "[CLS]", "type_id": 0}} or {"Sequence": {"id": "A", "type_id": 0}}
std::vector<TemplatePart> template_of(const Part& list, Part special, Ids ids) {
  std::vector<TemplatePart> parts;
  for (Part item : list.items()) {
    TemplatePart made;
    Part token = item["SpecialToken"], sequence = item["Sequence"];
    Part& named = token.is_null() ? sequence : token;
    made.type_id = named["type_id"].number(0, kMaxLength);
    const std::string name = named["id"].text();
    if (token.is_null()) {
      made.sequence = static_cast<int>(named["id"].choice({"A", "B"}));
    } else {
      for (const Part& id : special[name]["ids"].items()) made.ids.push_back(ids.of(id));
    }
    named.finish();
    item.finish();
    parts.push_back(std::move(made));
  }
  return parts;
}

// Each text is there once at most, and the second one in pairs alone.
void check_template(const Part& part, const std::vector<TemplatePart>& parts, int texts) {
  for (int text = 0; text < 2; ++text) {
    const auto count =
        std::count_if(parts.begin(), parts.end(), [&](const TemplatePart& p) { return p.sequence == text; });
    if (count != (text < texts ? 1 : 0))
      part.refuse(str("has text ", text == 0 ? 'A' : 'B', ' ', count, " times"));
  }
}

void read_post_processor(Part part, Ids ids, PostProcessor& into) {
  if (part.is_null()) return;
  const std::string type = part["type"].text();
  const auto special = [&](const char* key) {
    const std::vector<Part> pair = part[key].items();  // ["[CLS]", 101]
    if (pair.size() != 2) part.refuse(str("has a \"", key, "\" that is not a token with its number"));
    return std::vector<std::int64_t>{ids.of(pair[1])};
  };
  const auto trim = [&] {
    const bool adds = part["add_prefix_space"].flag(true);
    if (part["trim_offsets"].flag(true)) into.trims = adds;
  };
  if (!into.single.empty() && type != "ByteLevel" && type != "Sequence")
    part.refuse("is a second template, and Veldt takes one");
  if (type == "Sequence") {
    for (const Part& step : part["processors"].items()) read_post_processor(step, ids, into);
  } else if (type == "ByteLevel") {
    part.ignore({"use_regex"});
    trim();
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    const bool is_bert = type == "BertProcessing";
    const TemplatePart first{.sequence = 0}, second{.sequence = 1, .type_id = is_bert ? 1 : 0};
    const TemplatePart cls{.ids = special("cls")}, sep{.ids = special("sep")};
    TemplatePart last = sep;
    last.type_id = second.type_id;
    into.single = {cls, first, sep};
    into.pair = is_bert ? std::vector{cls, first, sep, second, last}
                        : std::vector{cls, first, sep, sep, second, last};
    into.one_type = !is_bert;
    if (!is_bert) trim();
  } else if (type == "TemplateProcessing") {
    const Part single = part["single"], pair = part["pair"];
    into.single = template_of(single, part["special_tokens"], ids);
    into.pair = template_of(pair, part["special_tokens"], ids);
    check_template(single, into.single, 1);
    check_template(pair, into.pair, 2);
  } else {
    part.refuse_type();
  }
  part.finish();
}

std::optional<Truncation> truncation_of(Part part) {
  if (part.is_null()) return std::nullopt;
  Truncation made;
  part.ignore({"stride"});  // of the parts that are cut away, which are not kept
  made.max_length = part["max_length"].number(0, std::numeric_limits<std::int64_t>::max());
  made.strategy =
      static_cast<Truncation::Strategy>(part["strategy"].choice({"LongestFirst", "OnlyFirst", "OnlySecond"}));
  if (const Part side = part["direction"]; !side.is_null())
    made.direction = static_cast<Side>(side.choice({"Left", "Right"}));
  part.finish();
  return made;
}

std::optional<Padding> padding_of(Part part, Ids ids) {
  if (part.is_null()) return std::nullopt;
  Padding made;
  part.ignore({"pad_token"});  // the number says which
  if (Part strategy = part["strategy"]; strategy.json().is_object())
    made.length = strategy["Fixed"].number(0, kMaxLength);
  else
    strategy.choice({"BatchLongest"});
  if (const Part multiple = part["pad_to_multiple_of"]; !multiple.is_null())
    made.multiple_of = multiple.number(0, kMaxLength);
  made.id = ids.of(part["pad_id"]);
  made.type_id = part["pad_type_id"].number(0, kMaxLength);
  made.direction = static_cast<Side>(part["direction"].choice({"Left", "Right"}));
  part.finish();
  return made;
}

// Reads the model, and the vocabulary that it has with the added tokens.
class ModelReader {
 public:
  ModelReader(Part model, std::shared_ptr<Vocabulary> vocabulary, Ids ids)
      : model_(std::move(model)), vocabulary_(std::move(vocabulary)), ids_(ids) {}

  std::unique_ptr<SubwordModel> read() {
    std::string type = model_["type"].text("");
    if (type.empty()) type = model_.json().contains("merges") ? "BPE" : "WordPiece";  // old files have none
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
    const Part vocab = model_["vocab"];
    if (!vocab.json().is_object()) vocab.refuse("is not an object");
    for (const auto& [token, number] : vocab.json().items()) {
      const auto id = io::whole_number<std::int64_t>(number);
      if (!id || *id < 0 || *id > ids_.most)
        vocab.refuse(str("has for \"", token.substr(0, 40), "\" no number from 0 to ", ids_.most));
      add(token, *id);
    }
  }

  std::optional<std::int64_t> unknown() {
    const Part token = model_["unk_token"];
    return token.is_null() ? std::nullopt : vocabulary_->id(token.text());
  }
  std::int64_t needed_unknown() {
    const auto id = unknown();
    if (!id) model_["unk_token"].refuse("is not in the vocabulary");
    return *id;
  }

  std::unique_ptr<SubwordModel> bpe() {
    read_vocabulary();
    if (const Part dropout = model_["dropout"]; !dropout.is_null() && dropout.json() != 0.0)
      dropout.refuse("is not 0: a tokenizer that leaves out merges by chance is for training it");
    std::vector<std::pair<std::string, std::string>> merges;
    const Part list = model_["merges"];
    if (!list.json().is_array()) list.refuse("is not a list");
    merges.reserve(list.json().size());
    for (const Json& merge : list.json()) {
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
    if (const Part most = model_["max_input_chars_per_word"]; !most.is_null())
      o.max_characters = most.number(0, std::numeric_limits<std::int64_t>::max());
    return model_["vocab"].checked([&] { return word_piece_model(vocabulary_, o); });
  }

  std::unique_ptr<SubwordModel> word_level() {
    read_vocabulary();
    return word_level_model(vocabulary_, unknown());
  }

  std::unique_ptr<SubwordModel> unigram() {
    const Part vocab = model_["vocab"];
    std::vector<double> scores;
    if (!vocab.json().is_array()) vocab.refuse("is not a list");
    for (const Json& entry : vocab.json()) {  // ["the", -3.2]
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
        vocab.refuse(str("has at ", scores.size(), " what is no token with a score"));
      add(entry[0].get_ref<const std::string&>(), std::ssize(scores));
      scores.push_back(entry[1].get<double>());
    }
    UnigramOptions o;
    if (const Part unk = model_["unk_id"]; !unk.is_null()) o.unknown = unk.number(0, std::ssize(scores) - 1);
    o.byte_fallback = model_["byte_fallback"].flag(false);
    return vocab.checked([&] { return unigram_model(vocabulary_, scores, o); });
  }

  Part model_;
  std::shared_ptr<Vocabulary> vocabulary_;
  Ids ids_;
};

AddedToken added_token_of(Part part, Ids ids) {
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
  std::vector<std::string> contents;
  std::vector<std::pair<std::string_view, std::int64_t>> entries;
  for (const AddedToken& token : added) contents.push_back(looked_for(token, normalizer));
  for (std::size_t i = added.size(); i-- > 0;)  // of equal ones the first counts
    if (added[i].normalized == normalized) entries.push_back({contents[i], static_cast<std::int64_t>(i)});
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
    Part(json, "", where).refuse(e.why());
  }
  Part file(json, "", where);
  if (!json.is_object()) file.refuse("it is not an object");
  file["version"];
  const Json& model_json = file["model"].json();
  const std::size_t tokens =
      model_json.is_object() && model_json.contains("vocab") ? model_json["vocab"].size() : 0;
  const Ids ids{static_cast<std::int64_t>(2 * tokens + (1 << 16))};

  SubwordTokenizer made;
  const auto parts = std::make_shared<SubwordParts>();
  parts->vocabulary = std::make_shared<Vocabulary>();
  parts->model = ModelReader(file["model"], parts->vocabulary, ids).read();
  parts->normalizer = normalizer_of(file["normalizer"]);
  if (const Part added = file["added_tokens"]; !added.is_null())
    for (const Part& token : added.items()) {
      AddedToken read = added_token_of(token, ids);
      if (read.content.empty()) continue;
      // As Hugging Face does: a token that the model has keeps its number there.
      if (const auto known = parts->vocabulary->id(read.content)) read.id = *known;
      const auto place = static_cast<std::size_t>(read.id);
      std::vector<std::string>& all = parts->vocabulary->tokens;
      if (place >= all.size()) all.resize(place + 1);
      all[place] = looked_for(read, parts->normalizer);
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
