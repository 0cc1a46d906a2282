// Tokenizers of every kind compared with Hugging Face's, and files and texts from untrusted sources.
#include "veldt/data/subword_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/subword_cases.h"
#include "tests/golden/nn_and_optim.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

using nlohmann::json;
using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

const json& golden_files() {
  static const json files = test::read_golden("subword.json");
  return files;
}

SubwordTokenizer golden_tokenizer(const std::string& name) {
  return SubwordTokenizer::parse(golden_files().at(name).at("file").dump(), name);
}

TEST(GoldenSubword, EveryKindIsHuggingFaces) {
  ASSERT_EQ(golden_files().size(), 10u);
  for (const auto& [name, golden] : golden_files().items()) {
    const test::Differences found = test::differences(golden_tokenizer(name), name, golden.at("cases"));
    EXPECT_EQ(found.tokens, 0) << name;
    EXPECT_EQ(found.offsets, 0) << name;
  }
}

TEST(SubwordTokenizer, MakesBatches) {
  SubwordTokenizer bert = golden_tokenizer("bert");
  const std::vector<std::string> texts = {"the lion", "the lion and the lioness rested"};
  EXPECT_THAT(error_of<ConfigError>([&] { bert.encode_batch(texts); }), HasSubstr("set_padding"));
  EXPECT_THAT(error_of<ConfigError>([&] { bert.set_padding(Padding{.length = -1}); }),
              HasSubstr("0 or more"));
  bert.set_padding(Padding{.id = *bert.id("[PAD]")});
  const TokenBatch batch = bert.encode_batch(texts);
  const Tensor alone = bert.encode(texts[0]);
  ASSERT_EQ(batch.ids.size(0), 2);
  ASSERT_GT(batch.ids.size(1), alone.size(0));
  for (std::int64_t i = 0; i < batch.ids.size(1); ++i) {
    const bool counts = i < alone.size(0);
    EXPECT_EQ(batch.ids.values<std::int64_t>()[static_cast<std::size_t>(i)],
              counts ? alone.values<std::int64_t>()[static_cast<std::size_t>(i)] : 0);
    EXPECT_EQ(to(batch.attention_mask, DType::i64).values<std::int64_t>()[static_cast<std::size_t>(i)],
              counts ? 1 : 0);
  }
  const TokenBatch pairs = bert.encode_batch({std::pair<std::string, std::string>{"the lion", "rests"}});
  EXPECT_EQ(pairs.type_ids.values<std::int64_t>().back(), 1);
  bert.set_truncation(Truncation{.max_length = 5});
  EXPECT_EQ(bert.encode(texts[1]).size(0), 5);
  bert.set_truncation(Truncation{.max_length = 1});
  EXPECT_THAT(error_of<ConfigError>([&] { bert.encode(texts[1]); }), HasSubstr("the special ones are 2"));
  bert.set_truncation(Truncation{.max_length = 5, .strategy = Truncation::Strategy::only_second});
  EXPECT_THAT(error_of<ConfigError>([&] { bert.encode(texts[1]); }), HasSubstr("there is none"));
}

TEST(SubwordTokenizer, KnowsItsTokens) {
  const SubwordTokenizer bert = golden_tokenizer("bert");
  EXPECT_EQ(bert.id("[SEP]"), 3);
  EXPECT_EQ(bert.id("no such token"), std::nullopt);
  EXPECT_TRUE(bert.is_special(3));
  EXPECT_FALSE(bert.is_special(50));
  EXPECT_EQ(bert.vocabulary().at(2), "[CLS]");
  EXPECT_THAT(error_of<ConfigError>([&] { bert.decode(std::vector<std::int64_t>{-1}); }),
              HasSubstr("-1 is not a token"));
  const test::TempDir dir = test::TempDir::in_memory();
  bert.save(dir / "t.json");
  EXPECT_EQ(SubwordTokenizer::load(dir / "t.json").text(), bert.text());
}

TEST(SubwordTokenizer, TakesBytesThatAreNoText) {
  const std::string bytes = "the \xff lion\xc3 \xe2\x82 \xf0\x9f\x98\x80\xed\xa0\x80";
  for (const auto& [name, golden] : golden_files().items()) {
    const SubwordTokenizer tokenizer = golden_tokenizer(name);
    const Encoding e = tokenizer.encoded(bytes);
    EXPECT_GE(e.ids.size(), 3u) << name;
    for (const auto& [begin, end] : e.offsets) EXPECT_TRUE(begin <= end && end <= bytes.size()) << name;
  }
  SubwordTokenizer gpt2 = golden_tokenizer("gpt2");
  EXPECT_EQ(gpt2.decode(gpt2.encode(bytes)), bytes);
}

// Texts whose length squared would be minutes.
TEST(SubwordTokenizer, TakesTimeByTheLengthOfATextAlone) {
  const std::size_t size = 1 << 19;
  std::string marks = "a";
  while (marks.size() < size) marks += "\xcc\x81\xcc\x96";
  for (const std::string& text : {std::string(size, 'a'), std::string(size, ' '), std::string(size, '\n'),
                                  marks, std::string(size, '[')})
    for (const char* name : {"bert", "gpt2", "llama3", "llama2", "t5", "mixed"}) {
      SubwordTokenizer tokenizer = golden_tokenizer(name);
      tokenizer.set_truncation(std::nullopt);
      EXPECT_LE(tokenizer.encoded(text).ids.size(), 2 * text.size()) << name;
    }
}

std::string error_of_file(json file) {
  return test::thrown_by<IoError>([&] { SubwordTokenizer::parse(file.dump(), "t.json"); }).what();
}

std::string changed(const char* name, const std::string& at, const json& value) {
  json file = golden_files().at(name).at("file");
  file[json::json_pointer(at)] = value;
  return error_of_file(file);
}

TEST(SubwordTokenizer, NamesWhatItDoesNotKnow) {
  EXPECT_THAT(changed("bert", "/surprise", 1), HasSubstr("\"surprise\", which is unknown"));
  EXPECT_THAT(changed("bert", "/normalizer/surprise", 1), HasSubstr("\"normalizer\" has \"surprise\""));
  EXPECT_THAT(changed("bert", "/normalizer/type", "Magic"), HasSubstr("\"normalizer.type\" is \"Magic\""));
  EXPECT_THAT(changed("mixed", "/pre_tokenizer/pretokenizers/1/behavior", "Torn"),
              HasSubstr("\"pre_tokenizer.pretokenizers.1.behavior\" is \"Torn\""));
  EXPECT_THAT(changed("bert", "/pre_tokenizer/type", "UnicodeScripts"), HasSubstr("UnicodeScripts"));
  EXPECT_THAT(changed("bert", "/post_processor/type", 3), HasSubstr("is not a text"));
  EXPECT_THAT(changed("bert", "/decoder/type", "CTC"), HasSubstr("\"decoder.type\" is \"CTC\""));
  EXPECT_THAT(changed("bert", "/model/type", "Charm"), HasSubstr("\"model.type\" is \"Charm\""));
  EXPECT_THAT(changed("gpt2", "/model/dropout", 0.5), HasSubstr("\"model.dropout\""));
}

TEST(SubwordTokenizer, RefusesFilesThatAreWrong) {
  const auto refused = [](const std::string& text) {
    return std::string(test::thrown_by<IoError>([&] { SubwordTokenizer::parse(text, "t.json"); }).what());
  };
  EXPECT_THAT(refused(""), HasSubstr("not JSON"));
  EXPECT_THAT(refused("[1]"), HasSubstr("not an object"));
  EXPECT_THAT(refused("{}"), HasSubstr("\"model\" is not an object"));
  EXPECT_THAT(changed("bert", "/model/vocab", 3), HasSubstr("is not an object"));
  EXPECT_THAT(changed("bert", "/model/vocab/the", -1), HasSubstr("for \"the\" no number"));
  EXPECT_THAT(changed("bert", "/model/vocab/the", 1ll << 60), HasSubstr("for \"the\" no number"));
  EXPECT_THAT(changed("bert", "/model/unk_token", "[NONE]"), HasSubstr("not in the vocabulary"));
  EXPECT_THAT(changed("bert", "/added_tokens/0/id", 1ll << 40), HasSubstr("\"added_tokens.0.id\""));
  EXPECT_THAT(changed("gpt2", "/model/merges/0", {"a"}), HasSubstr("no pair"));
  EXPECT_THAT(changed("gpt2", "/model/merges/0", {"a", "zzzz"}),
              HasSubstr("merge 0 joins or makes \"azzzz\""));
  EXPECT_THAT(changed("t5", "/model/vocab/3", {"a", "b"}), HasSubstr("no token with a score"));
  EXPECT_THAT(changed("t5", "/model/unk_id", 1000000), HasSubstr("\"model.unk_id\""));
  EXPECT_THAT(changed("t5", "/normalizer/normalizers/0/precompiled_charsmap", "/////w=="),
              HasSubstr("precompiled_charsmap"));
  EXPECT_THAT(changed("t5", "/normalizer/normalizers/0/precompiled_charsmap", "?"), HasSubstr("not base64"));
  EXPECT_THAT(changed("bert", "/post_processor/single", json::array()), HasSubstr("has text A 0 times"));
  EXPECT_THAT(changed("bert_cased", "/post_processor/cls", {"[CLS]", 9999}),
              HasSubstr("9999, which is no token"));
  EXPECT_THAT(changed("bert_cased", "/padding/strategy", {{"Fixed", 1ll << 60}}),
              HasSubstr("\"padding.strategy.Fixed\""));
  EXPECT_THAT(changed("llama3", "/pre_tokenizer/pretokenizers/0/pattern/Regex", "(a"),
              HasSubstr("closing parenthesis"));
  EXPECT_EQ(test::thrown_by<IoError>([] { SubwordTokenizer::load("/nowhere/t.json"); }).kind(),
            IoError::Kind::missing);
}

TEST(SubwordTokenizer, GivesUpOnARegexThatNeverEnds) {
  json file = golden_files().at("llama3").at("file");
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(a+)+[bd]";
  const SubwordTokenizer tokenizer = SubwordTokenizer::parse(file.dump(), "t.json");
  EXPECT_THAT(error_of<ConfigError>([&] { tokenizer.encode(std::string(40, 'a') + "c"); }),
              HasSubstr("gives up on a text"));
}

// Of forty steps each doubles what the one before made.
TEST(SubwordTokenizer, NoTextGrowsWithoutEnd) {
  const auto forty = [](const json& step) { return std::vector<json>(40, step); };
  const json replace = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  const json letters = {{"type", "ByteLevel"}}, words = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  const auto with = [](const char* name, const char* part, const json& value) {
    json file = golden_files().at(name).at("file");
    file[part] = value;
    return SubwordTokenizer::parse(file.dump(), "t.json");
  };
  for (const SubwordTokenizer& tokenizer :
       {with("gpt2", "normalizer", {{"type", "Sequence"}, {"normalizers", forty(replace)}}),
        with("gpt2", "normalizer", {{"type", "Sequence"}, {"normalizers", forty(letters)}}),
        with("gpt2", "pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", forty(words)}}),
        with("gpt2", "normalizer",
             {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1 << 16, 'b')}})})
    EXPECT_THAT(error_of<ConfigError>([&] { tokenizer.encode(std::string(1000, 'a') + "é"); }),
                HasSubstr("grows"));
  // Between special tokens each part grows by itself.
  std::string parts;
  for (int i = 0; i < 3000; ++i) parts += "a[SEP]";
  EXPECT_THAT(
      error_of<ConfigError>([&] {
        with("bert", "normalizer", {{"type", "Prepend"}, {"prepend", std::string(1000, 'b')}}).encode(parts);
      }),
      HasSubstr("grows"));
  EXPECT_THAT(error_of<IoError>([&] {
                with("bert", "normalizer", {{"type", "Prepend"}, {"prepend", std::string(1 << 16, 'b')}});
              }),
              HasSubstr("normalised to more than a kilobyte"));
  const SubwordTokenizer decoder =
      with("gpt2", "decoder", {{"type", "Sequence"}, {"decoders", forty(replace)}});
  const std::vector<std::int64_t> ids(100, decoder.id("a").value());
  EXPECT_THAT(error_of<ConfigError>([&] { decoder.decode(ids); }), HasSubstr("grows"));
}

// A thousand places for a token of a thousand numbers.
TEST(SubwordTokenizer, TemplatesHaveATotal) {
  json file = golden_files().at("bert").at("file");
  json& post = file["post_processor"];
  ASSERT_EQ(post["type"], "TemplateProcessing");
  post["special_tokens"]["[CLS]"]["ids"] = std::vector<int>(1000, 1);
  for (int i = 0; i < 1000; ++i)
    post["single"].push_back({{"SpecialToken", {{"id", "[CLS]"}, {"type_id", 0}}}});
  EXPECT_THAT(error_of_file(file), HasSubstr("more than 65536"));
}

}  // namespace
}  // namespace veldt::data
