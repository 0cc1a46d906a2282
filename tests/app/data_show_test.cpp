// Grids of examples, drawn by the real command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/app/command.h"
#include "tests/app/small_model.h"
#include "tests/io/make_png.h"
#include "tests/support/temp_dir.h"
#include "veldt/data/pictures.h"
#include "veldt/io/image.h"

namespace veldt::test {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

// Two classes: three grey squares of level 51 (0.2), and one of 204 (0.8).
class DataShowCommand : public testing::Test {
 protected:
  DataShowCommand() {
    for (const auto& [name, level] : {std::pair("dark/a.png", 51), std::pair("dark/b.png", 51),
                                      std::pair("dark/c.png", 51), std::pair("light/a.png", 204)}) {
      std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + name).parent_path());
      put_bytes(folder_ + "/" + name,
                make_png({.width = 5, .height = 4, .depth = 8, .type = 0}, std::vector<int>(20, level)));
    }
  }
  Words show(const Words& more) const {
    return Words{"data", "show", "pictures", folder_, "-o", out_} + more;
  }

  const TempDir dir_;
  const std::string folder_ = dir_ / "set", out_ = dir_ / "grid.png";
};

TEST_F(DataShowCommand, DrawsAFolderAndNamesItsClasses) {
  const Ran ran = run_veldt(show({"--size", "6", "--columns", "3", "--json"}));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json.at("width"), 2 + 3 * 8);
  EXPECT_EQ(json.at("height"), 2 + 2 * 8);
  EXPECT_EQ(json.at("examples"), 4);
  ASSERT_EQ(json.at("pictures").size(), 4u);
  const Tensor grid = io::read_image(out_);
  std::string names;
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto& one = json.at("pictures").at(static_cast<std::size_t>(i));
    const bool light = one.at("example") == 3;
    EXPECT_EQ(one.at("label"), light ? 1 : 0);
    EXPECT_EQ(one.at("class"), light ? "light" : "dark");
    names += light ? "light" : i == 2 || i == 3 ? "dark" : "dark ";
    names += i == 2 || i == 3 ? "\n" : light ? " " : " ";
    const std::int64_t y = 5 + i / 3 * 8, x = 5 + i % 3 * 8;
    EXPECT_NEAR(grid.data<float>()[(y * grid.size(1) + x) * grid.size(2)], light ? 0.8 : 0.2, 1e-3) << i;
  }
  const Ran text = run_veldt(show({"--size", "6", "--columns", "3"}));
  EXPECT_EQ(text.out, "wrote " + out_ + ": 4 of 4 examples, 26 x 18 pixels\n" + names);
}

TEST_F(DataShowCommand, ShowsAnotherOrderInAnotherEpoch) {
  const auto order = [&](const Words& more) {
    const Ran ran = run_veldt(show(Words{"--json", "--size", "4"} + more));
    std::vector<int> examples;
    const auto json = nlohmann::json::parse(ran.out);
    for (const auto& one : json.at("pictures")) examples.push_back(one.at("example"));
    return examples;
  };
  const std::vector<int> first = order({});
  EXPECT_EQ(order({"--seed", "0"}), first);
  EXPECT_EQ(order({"--count", "2"}), (std::vector<int>{first[0], first[1]}));
  int others = 0;
  for (int i = 1; i < 5; ++i) {
    others += order({"--epoch", std::to_string(i)}) != first;
    others += order({"--seed", std::to_string(i)}) != first;
  }
  EXPECT_GT(others, 4);
}

TEST_F(DataShowCommand, SaysWhatItCannotShow) {
  const auto fails = [&](int code, const Words& words, const std::string& text) {
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, code) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err));
    EXPECT_THAT(ran.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(out_));
  };
  fails(2, show({"--part", "test"}), "pictures have no --part");
  fails(2, {"data", "show", "mnist", folder_, "-o", out_, "--size", "9"}, "--size is not for mnist");
  fails(2, {"data", "show", "cats", folder_, "-o", out_}, "cats");
  fails(3, {"data", "show", "mnist", folder_, "-o", out_}, "train-images-idx3-ubyte");
  fails(3, {"data", "show", "pictures", dir_ / "none", "-o", out_}, "none");
  fails(2, show({"--count", "0"}), "--count");
  put_bytes(folder_ + "/light/a.png", "no picture");
  fails(4, show({}), "light/a.png");
}

TEST_F(DataShowCommand, DrawsDigits) {
  const std::string data = VELDT_DATA;
  if (data.empty()) GTEST_SKIP() << "VELDT_DATA is not set";
  const Ran ran =
      run_veldt({"data", "show", "mnist", data + "/mnist", "-o", out_, "--part", "test", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json.at("width"), 242);
  EXPECT_EQ(json.at("examples"), 10000);
  const auto& tenth = json.at("pictures").at(10);
  const data::Example e = data::mnist(data + "/mnist", data::Part::test)->get(tenth.at("example"));
  EXPECT_EQ(tenth.at("label"), e[1].item());
  const Tensor grid = io::read_image(out_);
  for (std::int64_t y = 0; y < 28; ++y)
    for (std::int64_t x = 0; x < 28; ++x)
      ASSERT_NEAR(grid.data<float>()[(32 + y) * 242 + 62 + x], e[0].data<float>()[y * 28 + x], 1e-6);
}

}  // namespace
}  // namespace veldt::test
