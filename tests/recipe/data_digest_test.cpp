// A digest of a recipe's data changes with their names, sizes and contents, and with nothing else.
#include "veldt/recipe/data_digest.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_dir.h"

namespace veldt::recipe {
namespace {

namespace fs = std::filesystem;
using test::put_bytes;

Recipe recipe_of_kind(const std::string& kind, const std::string& path = "") {
  Recipe recipe;
  recipe.kind = kind, recipe.path = path;
  return recipe;
}

TEST(DataDigest, IsOfPicturesInFoldersOfClasses) {
  const test::TempDir dir = test::TempDir::in_memory();
  const std::string base = dir / "p/";
  for (const char* name : {"train/a/1.png", "train/b/1.png", "test/a/2.png", "runs/x/deep/3.png"}) {
    fs::create_directories(fs::path(base + name).parent_path());
    put_bytes(base + name, std::string("picture ") + name);
  }
  const Recipe recipe = recipe_of_kind("pictures", "p");
  const auto digest = [&] { return digest_of_data(recipe, dir.path()); };
  const DataDigest before = digest();
  EXPECT_EQ(before.files, 3);
  EXPECT_EQ(before.bytes, 2 * 21 + 20);
  // What is no picture, hidden or too deep for a class.
  put_bytes(base + "train/a/notes.txt", "x"), put_bytes(base + "train/a/.hidden.png", "x");
  EXPECT_EQ(digest(), before);
  put_bytes(base + "train/a/1.png", "picture train/A/1.png");
  EXPECT_EQ(digest().bytes, before.bytes);
  EXPECT_NE(digest(), before);
  put_bytes(base + "train/a/1.png", "picture train/a/1.png");
  EXPECT_EQ(digest(), before);
  fs::rename(base + "train/a/1.png", base + "train/a/9.png");
  EXPECT_NE(digest(), before);
}

TEST(DataDigest, IsOfTheBeginningAndTheEndOfALargeFile) {
  const test::TempDir dir = test::TempDir::in_memory();
  const Recipe recipe = recipe_of_kind("table", "t.csv");
  const auto digest_with = [&](std::size_t changed) {
    std::string bytes(std::size_t{80} << 20, 'x');
    bytes.at(changed) = 'y';
    put_bytes(dir / "t.csv", bytes);
    return digest_of_data(recipe, dir.path()).digest;
  };
  const std::string one = digest_with(0);
  EXPECT_NE(digest_with((std::size_t{32} << 20) - 1), one);
  EXPECT_NE(digest_with((std::size_t{80} << 20) - 1), one);
  EXPECT_EQ(digest_with(std::size_t{40} << 20), digest_with((std::size_t{40} << 20) + 1));
}

TEST(DataDigest, WhatIsMissingCountsNothing) {
  const test::TempDir dir = test::TempDir::in_memory();
  const Recipe recipe = recipe_of_kind("mnist");
  const DataDigest none = digest_of_data(recipe, dir.path());
  EXPECT_EQ(none.files, 0);
  fs::create_directories(dir / "mnist/raw");
  put_bytes(dir / "mnist/t10k-labels-idx1-ubyte", "abc"), put_bytes(dir / "mnist/raw/x", "abc");
  const DataDigest some = digest_of_data(recipe, dir.path());
  EXPECT_EQ(some.files, 1);
  EXPECT_EQ(some.bytes, 3);
}

}  // namespace
}  // namespace veldt::recipe
