// What a recipe's data become: labels, parts, and what cannot be learned from.
#include "veldt/recipe/data.h"

#include <gmock/gmock.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/io/make_png.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace veldt::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class RecipeDataTest : public testing::Test {
 protected:
  using Given = std::vector<std::pair<std::string, std::vector<std::string>>>;

  recipe::Data load(Given data) const {
    data.push_back({"model.layers", {"Linear(outputs)"}});
    data.push_back({"train.epochs", {"1"}});
    return recipe::load_data(recipe::recipe_of(data, "here"), dir_.path());
  }
  std::string refusal(const Given& data) const {
    return error_of<UsageError>([&] { load(data); });
  }
  void put_picture(const std::string& name, int side = 2, int level = 100) const {
    std::filesystem::create_directories(std::filesystem::path(dir_ / name).parent_path());
    put_bytes(dir_ / name, make_png({.width = side, .height = side},
                                    std::vector<int>(static_cast<std::size_t>(side * side), level)));
  }

  const TempDir dir_ = TempDir::in_memory();
};

TEST_F(RecipeDataTest, ATestFolderHasTheLabelsOfTheTrainingFolder) {
  for (const char* name : {"p/train/cat/a.png", "p/train/dog/a.png", "p/train/fish/a.png", "p/test/cat/a.png",
                           "p/test/fish/a.png"})
    put_picture(name);
  const Given pictures = {{"data.kind", {"pictures"}}, {"data.path", {"p"}}};
  const recipe::Data data = load(pictures);
  EXPECT_THAT(data.facts.classes, ElementsAre("cat", "dog", "fish"));
  ASSERT_EQ(data.test->size(), 2);
  EXPECT_EQ(data.test->get(1).at(1).item(), 2);
  Given with_share = pictures;
  with_share.push_back({"data.test", {"0.5"}});
  EXPECT_THAT(refusal(with_share), AllOf(HasSubstr("data.test is 0.5"), HasSubstr("p/test")));
  put_picture("p/test/bird/a.png");
  EXPECT_THAT(error_of<IoError>([&] { load(pictures); }), AllOf(HasSubstr("'bird'"), HasSubstr("cat, dog")));
}

TEST_F(RecipeDataTest, SomethingIsLeftToLearnFrom) {
  put_picture("p/cat/a.png");
  put_picture("p/cat/b.png");
  EXPECT_THAT(refusal({{"data.kind", {"pictures"}}, {"data.path", {"p"}}, {"data.validation", {"0.9"}}}),
              AllOf(HasSubstr("data.path 'p'"), HasSubstr("2 examples"), HasSubstr("data.validation = 0.9")));
  put_bytes(dir_ / "t.csv", "a,b\n1,2\n2,3\n3,5\n4,4\n");
  EXPECT_THAT(refusal({{"data.kind", {"table"}},
                       {"data.path", {"t.csv"}},
                       {"data.target", {"b"}},
                       {"data.test", {"0.5"}},
                       {"data.validation", {"0.9"}}}),
              AllOf(HasSubstr("data.path 't.csv'"), HasSubstr("data.test = 0.5")));
}

TEST_F(RecipeDataTest, SharesThatHoldBackNothingAreRefused) {
  std::string months = "sold\n", rows = "a,b\n";
  for (int i = 0; i < 144; ++i) months += fmt::format("{}\n", i % 12 + i);
  for (int i = 0; i < 4; ++i) rows += fmt::format("{},{}\n", i, i * i);
  put_bytes(dir_ / "months.csv", months);
  put_bytes(dir_ / "rows.csv", rows);
  put_bytes(dir_ / "a.txt", std::string(10'000, 'a') + "b");
  const Given series = {{"data.kind", {"series"}},
                        {"data.path", {"months.csv"}},
                        {"data.column", {"sold"}},
                        {"data.context", {"12"}},
                        {"data.horizon", {"12"}}};
  const Given table = {{"data.kind", {"table"}}, {"data.path", {"rows.csv"}}, {"data.target", {"b"}}};
  const Given text = {{"data.kind", {"text"}}, {"data.path", {"a.txt"}}, {"data.context", {"256"}}};
  // Each with a share that is too small, and what the error says would do.
  struct Case {
    Given data;
    const char *share, *enough;
  };
  for (const Case& c :
       {Case{series, "0.05", "0.087"}, Case{table, "0.1", "0.375"}, Case{text, "0.01", "0.026"}})
    for (const std::string key : {"data.validation", "data.test"}) {
      Given with_share = c.data;
      with_share.push_back({key, {c.share}});
      EXPECT_THAT(refusal(with_share), AllOf(HasSubstr(key + " = " + c.share),
                                             HasSubstr(fmt::format("give {} or more", c.enough))));
      with_share.back().second = {c.enough};
      const recipe::Data data = load(with_share);
      EXPECT_GT((key == "data.test" ? data.test : data.validation)->size(), 0) << c.enough;
    }
}

TEST_F(RecipeDataTest, BytePairsAreLearnedFromTheTrainingPartAlone) {
  // Few tokens for the first half, many for the second: a share of tokens is not that of bytes.
  std::string text;
  for (int i = 0; i < 100; ++i) text += "the lion ";
  for (int i = 0; i < 450; ++i) text += "qz";
  put_bytes(dir_ / "a.txt", text);
  const Given bpe = {{"data.kind", {"text"}},
                     {"data.path", {"a.txt"}},
                     {"data.context", {"4"}},
                     {"data.tokens", {"bpe(270)"}}};
  Given halves = bpe;
  halves.push_back({"data.validation", {"0.5"}});
  const recipe::Data data = load(halves);
  const data::Tokenizer& tokenizer = *data.facts.tokenizer;
  const auto& words = tokenizer.vocabulary();
  EXPECT_EQ(std::count(words.begin(), words.end(), "qz"), 0);
  // In the first half the last word is whole, and the second begins with its first letter.
  const data::Example last = data.train->get(data.train->size() - 1);
  EXPECT_EQ(tokenizer.decode(last.at(1)).back(), ' ');
  EXPECT_EQ(tokenizer.decode(data.validation->get(0).at(0)), "qzqz");
  // A character is not split.
  std::string accents;
  for (int i = 0; i < 101; ++i) accents += "\u00e9";
  put_bytes(dir_ / "a.txt", accents);
  for (const char* tokens : {"characters", "bpe(257)"}) {
    halves[3].second = {tokens};
    const recipe::Data of = load(halves);
    EXPECT_TRUE(of.facts.tokenizer->decode(of.validation->get(0).at(0)).starts_with("\u00e9")) << tokens;
  }
}

TEST_F(RecipeDataTest, PicturesHaveOneSize) {
  put_picture("p/cat/a.png", 4);
  put_picture("p/cat/b.png", 6);
  const Given mixed = {{"data.kind", {"pictures"}}, {"data.path", {"p"}}};
  EXPECT_THAT(error_of<UsageError>([&] { load(mixed).train->get(1); }),
              AllOf(HasSubstr("[3, 4, 4] and [3, 6, 6]"), HasSubstr("data.height and data.width")));
  Given cropped = mixed;
  cropped.insert(cropped.end(), {{"data.height", {"4"}}, {"data.width", {"4"}}});
  EXPECT_EQ(load(cropped).train->get(1).at(0).shape(), (Shape{3, 4, 4}));
  cropped.push_back({"data.augment", {"random_crop(3, 3)"}});
  EXPECT_THAT(refusal(cropped), AllOf(HasSubstr("data.augment"), HasSubstr("[3, 4, 4] into [3, 3, 3]")));
  cropped.back().second = {"random_crop(4, 4, 1)"};
  EXPECT_EQ(load(cropped).facts.model.input, (Shape{3, 4, 4}));
}

}  // namespace
}  // namespace veldt::test
