// Byte pairs compared with Hugging Face's trainer, and files from untrusted sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/golden/nn_and_optim.h"
#include "tests/io/faults.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/rng.h"
#include "veldt/data/tokenizer.h"
#include "veldt/io/file.h"

namespace veldt::data {
namespace {

using nlohmann::json;
using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

// The pairs as bytes.
std::vector<std::pair<std::string, std::string>> merges_in_bytes(const BpeTokenizer& tokenizer) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [left, right] : tokenizer.merges())
    all.push_back({tokenizer.vocabulary()[static_cast<std::size_t>(left)],
                   tokenizer.vocabulary()[static_cast<std::size_t>(right)]});
  return all;
}

json saved_form(const BpeTokenizer& tokenizer) {
  const test::TempDir dir = test::TempDir::in_memory();
  tokenizer.save(dir / "t.json");
  return json::parse(io::read_file(dir / "t.json"));
}

TEST(BpeTokenizer, JoinsWhatMeetsMostOften) {
  const BpeTokenizer tokenizer = BpeTokenizer::train("abab abab abab abx", 300);
  // Of " " "ab" and "ab" "ab", which are both there three times, the space has the smaller number.
  EXPECT_THAT(merges_in_bytes(tokenizer),
              ElementsAre(std::pair("a", "b"), std::pair(" ", "ab"), std::pair(" ab", "ab")));
  EXPECT_EQ(tokenizer.size(), 259);  // no other pair is there twice
  EXPECT_THAT(tokenizer.encode("xabab abab").values<std::int64_t>(), ElementsAre('x' - '!', 256, 256, 258));
  EXPECT_EQ(BpeTokenizer::train("abab abab", 257).size(), 257);
  EXPECT_EQ(BpeTokenizer::train("", 1000).size(), 256);
  EXPECT_THAT(error_of<ConfigError>([] { BpeTokenizer::train("abc", 255); }), HasSubstr("256 bytes"));
}

TEST(GoldenBpeTokenizer, LearnsAndEncodesAsHuggingFaceDoes) {
  const json golden = test::read_golden("bpe.json");
  const BpeTokenizer tokenizer =
      BpeTokenizer::train(golden.at("text").get<std::string>(), golden.at("vocabulary_size"));
  const json saved = saved_form(tokenizer).at("model");
  EXPECT_EQ(saved.at("merges"), golden.at("merges"));
  EXPECT_EQ(saved.at("vocab"), golden.at("vocab"));
  for (const json& e : golden.at("encoded")) {
    const auto text = e.at("text").get<std::string>();
    EXPECT_EQ(json(tokenizer.encode(text).values<std::int64_t>()), e.at("numbers")) << text;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

// The golden file has save()'s frame: change both together.
TEST(GoldenBpeTokenizer, WritesTheFrameThatHuggingFaceRead) {
  EXPECT_EQ(saved_form(BpeTokenizer::train("", 256)), test::read_golden("bpe_frame.json"));
}

TEST(BpeTokenizer, BringsAnyBytesBack) {
  const BpeTokenizer tokenizer = BpeTokenizer::train("the lion the lioness \xc3\xa9\xc3\xa9 \xff\xff", 280);
  Rng rng(7, 0);
  for (int length = 0; length < 200; ++length) {
    std::string bytes;
    for (int i = 0; i < length; ++i) bytes += static_cast<char>(rng.next_u32() % (length % 2 ? 256 : 34));
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes);
  }
  EXPECT_EQ(tokenizer.encode("").shape(), (Shape{0}));
  EXPECT_THAT(error_of<ConfigError>([&] { tokenizer.decode(Tensor::of({1}, {1e6})); }),
              HasSubstr("the number 1000000 is not a token"));
}

// One word without end: each merge costs what it changes, not the word.
TEST(BpeTokenizer, TakesAWordOfAMegabyte) {
  const std::string word(1 << 20, 'a');
  const BpeTokenizer tokenizer = BpeTokenizer::train(word, 256 + 10);
  EXPECT_EQ(tokenizer.vocabulary().back().size(), 1u << 10);
  EXPECT_EQ(tokenizer.encode(word).size(0), 1 << 10);
}

TEST(BpeTokenizer, IsKeptInAFile) {
  const test::TempDir dir = test::TempDir::in_memory();
  const std::string text = "low lower lowest newer wider \xf0\x9f\xa6\x81 \xf0\x9f\xa6\x81 \x01\x01";
  const BpeTokenizer before = BpeTokenizer::train(text, 280);
  ASSERT_GT(before.size(), 262);
  before.save(dir / "t.json");
  const BpeTokenizer after = BpeTokenizer::load(dir / "t.json");
  EXPECT_EQ(after.vocabulary(), before.vocabulary());
  EXPECT_EQ(after.merges(), before.merges());
}

TEST(BpeTokenizer, RefusesFilesThatAreNone) {
  const json good = saved_form(BpeTokenizer::train("aab aab", 258));
  ASSERT_EQ(good["model"]["merges"], json::parse(R"([["a", "a"], ["aa", "b"]])"));
  const auto error = [](const std::string& text) {
    const test::TempDir dir = test::TempDir::in_memory();
    io::write_file(dir / "t.json", text);
    return std::string(test::thrown_by<IoError>([&] { BpeTokenizer::load(dir / "t.json"); }).what());
  };
  const auto changed = [&](const std::string& at, const json& value) {
    json file = good;
    file[json::json_pointer(at)] = value;
    return error(file.dump());
  };
  EXPECT_THAT(error(""), HasSubstr("not JSON"));
  EXPECT_THAT(error("[1]"), HasSubstr("not an object"));
  EXPECT_THAT(error("{}"), HasSubstr("is not there"));
  EXPECT_THAT(changed("/normalizer", {{"type", "NFC"}}), HasSubstr("\"normalizer\" is {\"type\":\"NFC\"}"));
  EXPECT_THAT(changed("/model/type", "WordPiece"), HasSubstr("\"model.type\" is \"WordPiece\""));
  EXPECT_THAT(changed("/model/surprise", 1), HasSubstr("\"model.surprise\" is unknown"));
  EXPECT_THAT(changed("/added_tokens", {{{"id", 258}}}), HasSubstr("\"added_tokens\""));
  EXPECT_THAT(changed("/pre_tokenizer/pretokenizers/0/pattern/Regex", "x"), HasSubstr("pretokenizers"));
  EXPECT_THAT(changed("/model/vocab", 3), HasSubstr("lacks"));
  EXPECT_THAT(changed("/model/merges", nullptr), HasSubstr("lacks"));
  EXPECT_THAT(changed("/model/merges/0", {"a"}), HasSubstr("merge 0 is not a pair"));
  EXPECT_THAT(changed("/model/merges/1", {"aa", 3}), HasSubstr("merge 1 is not a pair"));
  EXPECT_THAT(changed("/model/merges/0", {"aa", "b"}), HasSubstr("no earlier merge makes"));
  EXPECT_THAT(changed("/model/merges/1", {"a", "a"}), HasSubstr("merge 1 is there twice"));
  EXPECT_THAT(changed("/model/merges/1", {"b", "a"}), HasSubstr("which no merge makes"));
  EXPECT_THAT(changed("/model/vocab/zz", 258), HasSubstr("has 259 tokens, and the merges make 258"));
  EXPECT_THAT(changed("/model/vocab/a", 256), HasSubstr("\"a\" at 256, where the merges make it 64"));
  EXPECT_THAT(changed("/model/vocab/a", "x"), HasSubstr("\"a\" at \"x\""));
  EXPECT_EQ(test::thrown_by<IoError>([] { BpeTokenizer::load("/nowhere/t.json"); }).kind(),
            IoError::Kind::missing);
}

}  // namespace
}  // namespace veldt::data
