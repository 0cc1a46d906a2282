// Reads the steps of a tokenizer.json: what is done to a text before the model, and to its tokens after it.
#include <array>
#include <optional>
#include <utility>

#include "veldt/core/base64.h"
#include "veldt/data/subword_json.h"

namespace veldt::data {
namespace {

// {"String": text} or {"Regex": expression}
Matcher pattern_of(JsonPart part) {
  if (part.is_text()) return matcher(part.text());
  if (JsonPart plain = part["String"]; !plain.is_null()) return matcher(plain.text());
  JsonPart expression = part["Regex"];
  part.finish();
  return expression.checked([&] { return matcher(Regex(expression.text())); });
}

Prepend prepend_of(JsonPart& part) {
  const JsonPart scheme = part["prepend_scheme"], legacy = part["add_prefix_space"];
  const bool prepends = legacy.flag(true);
  if (scheme.is_null()) return prepends ? Prepend::always : Prepend::never;
  return std::array{Prepend::always, Prepend::first,
                    Prepend::never}[scheme.choice({"always", "first", "never"})];
}

std::string bytes_of(const JsonPart& part) {
  std::optional<std::string> bytes = from_base64(part.text());
  if (!bytes) part.refuse("is not base64");
  return *std::move(bytes);
}

Delimiter delimiter_of(const JsonPart& part) {
  return static_cast<Delimiter>(
      part.choice({"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}));
}

}  // namespace

Normalizer normalizer_of(JsonPart part) {
  if (part.is_null()) return {};
  const std::string type = part["type"].text();
  const auto made = [&]() -> Normalizer {
    if (type == "Sequence") {
      std::vector<Normalizer> steps;
      for (const JsonPart& step : part["normalizers"].items()) steps.push_back(normalizer_of(step));
      return [steps](AlignedText& text) {
        for (const Normalizer& step : steps) {
          if (step) step(text);
          text.check_growth();
        }
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
      const JsonPart map = part["precompiled_charsmap"];
      return map.checked([&] { return precompiled_normalizer(bytes_of(map)); });
    }
    part.refuse_type();
  }();
  part.finish();
  return made;
}

PreTokenizer pre_tokenizer_of(JsonPart part) {
  if (part.is_null()) return {};
  const std::string type = part["type"].text();
  const auto made = [&]() -> PreTokenizer {
    if (type == "Sequence") {
      std::vector<PreTokenizer> steps;
      for (const JsonPart& step : part["pretokenizers"].items()) steps.push_back(pre_tokenizer_of(step));
      return [steps](Pieces& pieces) {
        for (const PreTokenizer& step : steps) {
          if (step) step(pieces);
          pieces.text.check_growth();
        }
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
      const JsonPart behavior = part["behavior"];
      return split_pre_tokenizer(matcher(is_punctuation),
                                 behavior.is_null() ? Delimiter::isolated : delimiter_of(behavior), false);
    }
    part.refuse_type();
  }();
  part.finish();
  return made;
}

void read_decoder(JsonPart part, std::vector<TokenDecoder>& into) {
  if (part.is_null()) return;
  const std::string type = part["type"].text();
  if (type == "Sequence") {
    for (const JsonPart& step : part["decoders"].items()) read_decoder(step, into);
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
    const std::int64_t start = part["start"].number(0, kMaxTokens);
    into.push_back(strip_decoder(content, start, part["stop"].number(0, kMaxTokens)));
  } else if (type == "Replace") {
    Matcher pattern = pattern_of(part["pattern"]);
    into.push_back(replace_decoder(std::move(pattern), part["content"].text()));
  } else {
    part.refuse_type();
  }
  part.finish();
}

namespace {

// {"SpecialToken": {"id": "[CLS]", "type_id": 0}} or {"Sequence": {"id": "A", "type_id": 0}}
std::vector<TemplatePart> template_of(const JsonPart& list, JsonPart special, Ids ids) {
  constexpr std::size_t kMaxIds = 65536;  // of all parts, which may name one token again and again
  std::size_t count = 0;
  std::vector<TemplatePart> parts;
  for (JsonPart item : list.items()) {
    TemplatePart made;
    JsonPart token = item["SpecialToken"], sequence = item["Sequence"];
    JsonPart& named = token.is_null() ? sequence : token;
    made.type_id = named["type_id"].number(0, kMaxTokens);
    const std::string name = named["id"].text();
    if (token.is_null()) {
      made.sequence = static_cast<int>(named["id"].choice({"A", "B"}));
    } else {
      for (const JsonPart& id : special[name]["ids"].items()) made.ids.push_back(ids.of(id));
      if ((count += made.ids.size()) > kMaxIds)
        list.refuse(str("has more than ", kMaxIds, " special tokens"));
    }
    named.finish();
    item.finish();
    parts.push_back(std::move(made));
  }
  return parts;
}

// Each text is there once at most, and the second one in pairs alone.
void check_template(const JsonPart& part, const std::vector<TemplatePart>& parts, int texts) {
  for (int text = 0; text < 2; ++text) {
    const auto count =
        std::count_if(parts.begin(), parts.end(), [&](const TemplatePart& p) { return p.sequence == text; });
    if (count != (text < texts ? 1 : 0))
      part.refuse(str("has text ", text == 0 ? 'A' : 'B', ' ', count, " times"));
  }
}

}  // namespace

void read_post_processor(JsonPart part, Ids ids, PostProcessor& into) {
  if (part.is_null()) return;
  const std::string type = part["type"].text();
  const auto special = [&](const char* key) {
    const std::vector<JsonPart> pair = part[key].items();  // ["[CLS]", 101]
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
    for (const JsonPart& step : part["processors"].items()) read_post_processor(step, ids, into);
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
    const JsonPart single = part["single"], pair = part["pair"];
    into.single = template_of(single, part["special_tokens"], ids);
    into.pair = template_of(pair, part["special_tokens"], ids);
    check_template(single, into.single, 1);
    check_template(pair, into.pair, 2);
  } else {
    part.refuse_type();
  }
  part.finish();
}

}  // namespace veldt::data
