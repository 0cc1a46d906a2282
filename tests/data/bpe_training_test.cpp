// Byte pairs that are learned from a text, compared with Hugging Face's trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/golden/nn_and_optim.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/rng.h"
#include "veldt/data/subword_tokenizer.h"

namespace veldt::data {
namespace {

using nlohmann::json;
using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

json file_of(const SubwordTokenizer& tokenizer) { return json::parse(tokenizer.text()); }

TEST(BpeTraining, JoinsWhatMeetsMostOften) {
  const SubwordTokenizer tokenizer = SubwordTokenizer::train_bpe("abab abab abab abx", 300);
  // Of " " "ab" and "ab" "ab", which are both there three times, the space has the smaller number.
  EXPECT_EQ(file_of(tokenizer).at("model").at("merges"),
            json::parse(R"([["a","b"],["Ġ","ab"],["Ġab","ab"]])"));
  EXPECT_EQ(tokenizer.size(), 259);  // no other pair is there twice
  EXPECT_THAT(tokenizer.encode("xabab abab").values<std::int64_t>(), ElementsAre('x' - '!', 256, 256, 258));
  EXPECT_EQ(SubwordTokenizer::train_bpe("abab abab", 257).size(), 257);
  EXPECT_EQ(SubwordTokenizer::train_bpe("", 1000).size(), 256);
  EXPECT_THAT(error_of<ConfigError>([] { SubwordTokenizer::train_bpe("abc", 255); }), HasSubstr("256 bytes"));
}

TEST(GoldenBpeTraining, LearnsAndEncodesAsHuggingFaceDoes) {
  const json golden = test::read_golden("bpe.json");
  const SubwordTokenizer tokenizer =
      SubwordTokenizer::train_bpe(golden.at("text").get<std::string>(), golden.at("vocabulary_size"));
  const json saved = file_of(tokenizer).at("model");
  EXPECT_EQ(saved.at("merges"), golden.at("merges"));
  EXPECT_EQ(saved.at("vocab"), golden.at("vocab"));
  for (const json& e : golden.at("encoded")) {
    const auto text = e.at("text").get<std::string>();
    EXPECT_EQ(json(tokenizer.encode(text).values<std::int64_t>()), e.at("numbers")) << text;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

// The golden file has save()'s frame: change both together.
TEST(GoldenBpeTraining, WritesTheFrameThatHuggingFaceRead) {
  EXPECT_EQ(file_of(SubwordTokenizer::train_bpe("", 256)), test::read_golden("bpe_frame.json"));
}

TEST(BpeTraining, BringsAnyBytesBack) {
  const SubwordTokenizer tokenizer =
      SubwordTokenizer::train_bpe("the lion the lioness \xc3\xa9\xc3\xa9 \xff\xff", 280);
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
TEST(BpeTraining, TakesAWordOfAMegabyte) {
  const std::string word(1 << 20, 'a');
  const SubwordTokenizer tokenizer = SubwordTokenizer::train_bpe(word, 256 + 10);
  EXPECT_EQ(tokenizer.vocabulary().back().size(), 1u << 10);
  EXPECT_EQ(tokenizer.encode(word).size(0), 1 << 10);
}

TEST(BpeTraining, IsKeptInAFile) {
  const test::TempDir dir = test::TempDir::in_memory();
  const std::string text = "low lower lowest newer wider \xf0\x9f\xa6\x81 \xf0\x9f\xa6\x81 \x01\x01";
  const SubwordTokenizer before = SubwordTokenizer::train_bpe(text, 280);
  ASSERT_GT(before.size(), 262);
  before.save(dir / "t.json");
  const SubwordTokenizer after = SubwordTokenizer::load(dir / "t.json");
  EXPECT_EQ(after.vocabulary(), before.vocabulary());
  EXPECT_EQ(after.text(), before.text());
  EXPECT_EQ(after.encode(text).values<std::int64_t>(), before.encode(text).values<std::int64_t>());
}

}  // namespace
}  // namespace veldt::data
