// A recipe that is written as TOML is read as the same, whatever its texts hold; and one with other values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/support/temp_dir.h"
#include "veldt/io/file.h"
#include "veldt/recipe/recipe.h"
#include "veldt/recipe/trained.h"

namespace veldt::recipe {
namespace {

using testing::HasSubstr;

const std::string kWritten =
    "[data]\nkind = \"table\"\npath = \"a.csv\"\ntarget = \"y\"\n"
    "[values]\nwidth = 8\nact = \"LeakyReLU(0.2)\"\n"
    "[model]\nlayers = [\"Linear(width)\", \"act\", \"Linear(outputs)\"]\n"
    "[optimizer]\nlr = 1e-3\n[train]\nsteps = 3\n";

TEST(WrittenRecipe, OfEveryRecipeOfTheHouseIsReadAsTheSame) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(VELDT_SOURCE "/recipes")) {
    if (entry.path().extension() != ".toml") continue;
    const Recipe recipe = read(entry.path().string());
    const Recipe again = parse(in_toml(recipe));
    EXPECT_EQ(in_json(again), in_json(recipe)) << entry.path();
    EXPECT_EQ(in_toml(again), in_toml(recipe)) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 8);
}

TEST(WrittenRecipe, KeepsTextsOfAnyLettersAndNamesWithDots) {
  const Recipe recipe =
      parse(kWritten,
            {"data.target=a \"b\" \\ c\n\t\x7f \xc3\xa4", "optimizer.groups.layer4.1=0.5", "train.steps=10k",
             "data.validation=5e-2", "data.classes=no", "values.width=007", "data.inputs=[]"});
  const Recipe again = parse(in_toml(recipe));
  EXPECT_EQ(again.target, "a \"b\" \\ c\n\t\x7f \xc3\xa4");
  EXPECT_EQ(again.groups.at("layer4.1").rate, 0.5);
  EXPECT_EQ(again.steps, 10000);
  EXPECT_EQ(again.validation, 0.05);
  EXPECT_EQ(again.values.at("width"), "007");
  EXPECT_EQ(again.values.at("act"), "LeakyReLU(0.2)");
  EXPECT_TRUE(again.inputs.given() && again.inputs.texts.empty());
  EXPECT_EQ(in_toml(again), in_toml(recipe));
}

TEST(WrittenRecipe, WithOtherValuesIsCheckedAsAWhole) {
  const Recipe recipe = parse(kWritten);
  const Recipe other = changed(recipe, {"optimizer.lr=0.5", "values.width=16"}, "--over");
  EXPECT_EQ(other.lr, 0.5);
  EXPECT_EQ(other.values.at("width"), "16");
  EXPECT_EQ(recipe.values.at("width"), "8");
  try {
    changed(recipe, {"data.kind=text"}, "--over");
    FAIL() << "a text has no target";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("the recipe: 'data.target' is not for data of the kind 'text'"));
  }
  check_set({}, "data.kind=text");
  try {
    check_set({}, "optimizer.lrr=1", "--over");
    FAIL() << "there is no such key";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("--over optimizer.lrr: there is nothing called 'optimizer.lrr'"));
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'optimizer.lr'?"));
  }
  EXPECT_EQ(type_of_key("optimizer.lr"), io::TomlType::number);
  EXPECT_EQ(type_of_key("block.a.layers"), io::TomlType::list);
  EXPECT_FALSE(type_of_key("optimizer.lrr"));
}

// By other programs' names, by the last part alone, or mistyped.
TEST(WrittenRecipe, SaysWhatAKeyMayHaveMeant) {
  const Recipe recipe = parse(
      "[data]\nkind = \"mnist\"\n[values]\nwidth = 3\n[model]\nlayers = [\"Linear(width)\"]\n"
      "[train]\nepochs = 1\n");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"optimizer.rate", "did you mean 'optimizer.lr'?"},
      {"lr", "did you mean 'optimizer.lr'?"},
      {"learning_rate", "did you mean 'optimizer.lr'?"},
      {"train.lr", "did you mean 'optimizer.lr'?"},
      {"epochs", "did you mean 'train.epochs'?"},
      {"epoch", "did you mean 'train.epochs'?"},
      {"batch", "did you mean 'data.batch'?"},
      {"train.batch_size", "did you mean 'data.batch'?"},
      {"batch_size", "did you mean 'data.batch'?"},
      {"kind", "did you mean 'data.kind' or 'optimizer.kind'?"},
      {"optimizer.knd", "did you mean 'optimizer.kind'?"},
      {"model.width", "did you mean 'values.width'?"},
      {"widht", "did you mean 'values.width'?"},
      {"nonsense", "see docs/recipes.md"},
      {"", "see docs/recipes.md"},
      {".", "see docs/recipes.md"},
  };
  for (const auto& [key, words] : cases) try {
      changed(recipe, {key + "=1"});
      ADD_FAILURE() << key;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr(words)) << key;
      EXPECT_LT(e.why().size(), 500U) << key << ": a list of all keys is no help: " << e.why();
    }
  EXPECT_EQ(changed(recipe, {"width=5"}).values.at("width"), "5");
  EXPECT_EQ(changed(recipe, {"width='5'"}).values.at("width"), "5");
}

// `veldt train photo.png`, the other way round, or the file of a model: errors of lines would be of no use.
TEST(WrittenRecipe, SaysWhatAFileIsThatIsNoRecipe) {
  const test::TempDir dir;
  for (const auto& [bytes, is] : std::vector<std::pair<std::string, std::string>>{
           {std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16), "it seems to be a PNG"},
           {std::string("PK\x03\x04", 4), "it seems to be a zip archive"},
           {std::string("\x10\0\0\0\0\0\0\0{\"a\":{}}", 16), "it seems to be a safetensors file"},
           {std::string("\x89PNG\r\n\x1a\n", 8) + std::string(1 << 20, 'x'), "it seems to be a PNG"}}) {
    const std::string file = dir / "x";
    io::write_file(file, bytes);
    try {
      read(file);
      ADD_FAILURE() << is;
    } catch (const io::ConfigFileError& e) {
      EXPECT_THAT(e.what(), HasSubstr("cannot read the recipe " + file + "\n"));
      EXPECT_EQ(e.why(), is);
      EXPECT_THAT(e.fix(), HasSubstr("a recipe is a TOML file"));
    }
  }
}

}  // namespace
}  // namespace veldt::recipe
