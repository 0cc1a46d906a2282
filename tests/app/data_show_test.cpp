// Grids of what a network is shown, drawn by the real command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/app/command.h"
#include "tests/app/small_model.h"
#include "tests/io/make_png.h"
#include "tests/support/temp_dir.h"
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
    put_bytes(
        dir_ / "r.toml",
        "[data]\nkind = \"pictures\"\npath = \"set\"\nheight = 6\nwidth = 6\nbatch = 2\n"
        "augment = [\"gaussian_noise(0.1)\"]\nprepare = [\"normalise([0.5, 0.5, 0.5], [0.1, 0.1, 0.1])\"]\n"
        "[model]\nlayers = [\"Flatten\", \"Linear(outputs)\"]\n[train]\nepochs = 1\n");
  }
  Words show(const Words& more) const {
    return Words{"data", "show", dir_ / "r.toml", "--data", dir_ / "", "-o", out_} + more;
  }
  nlohmann::json shown(const Words& more) const {
    const Ran ran = run_veldt(show(more + Words{"--json"}));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return nlohmann::json::parse(ran.out, nullptr, false);
  }

  const TempDir dir_;
  const std::string folder_ = dir_ / "set", out_ = dir_ / "grid.png";
};

TEST_F(DataShowCommand, DrawsTheEpochAndNamesItsClasses) {
  const auto json = shown({"--columns", "3", "--plain"});
  EXPECT_EQ(json.at("width"), 2 + 3 * 8);
  EXPECT_EQ(json.at("height"), 2 + 2 * 8);
  EXPECT_EQ(json.at("examples"), 4);
  const std::vector<std::string> names = json.at("classes");
  ASSERT_EQ(names.size(), 4U);
  const Tensor grid = io::read_image(out_);
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::int64_t y = 5 + i / 3 * 8, x = 5 + i % 3 * 8;
    EXPECT_NEAR(grid.data<float>()[(y * grid.size(1) + x) * grid.size(2)],
                names[static_cast<std::size_t>(i)] == "light" ? 0.8 : 0.2, 1e-3)
        << i;
  }
  EXPECT_EQ(std::count(names.begin(), names.end(), "light"), 1);
  const Ran text = run_veldt(show({"--columns", "3"}));
  EXPECT_THAT(text.out, HasSubstr("wrote " + out_ + ": 4 of 4 examples, 26 x 18 pixels\n" + names[0]));
}

TEST_F(DataShowCommand, ShowsWhatChanceDoesInEachEpoch) {
  shown({});
  const std::string first = bytes_of(out_);
  shown({});
  EXPECT_EQ(bytes_of(out_), first);
  shown({"--epoch", "1"});
  EXPECT_NE(bytes_of(out_), first);
  shown({"--plain"});
  EXPECT_NE(bytes_of(out_), first);
  const std::vector<std::string> mixed = shown({"--set", "data.mix=mixup(1)"}).at("classes");
  EXPECT_TRUE(
      std::any_of(mixed.begin(), mixed.end(), [](auto& name) { return name.find(" 0.") < name.size(); }));
  EXPECT_EQ(shown({"--count", "1"}).at("classes").size(), 1U);
  std::filesystem::rename(folder_ + "/light", folder_ + "/li\nght");
  const std::vector<std::string> on_lines = shown({"--set", "data.mix=mixup(1)"}).at("classes");
  EXPECT_THAT(on_lines, testing::Contains(HasSubstr("ght 0.")));
  EXPECT_THAT(on_lines, testing::Each(testing::Not(HasSubstr("\n"))));
}

TEST_F(DataShowCommand, SaysWhatItCannotShow) {
  const auto fails = [&](int code, const Words& words, const std::string& text) {
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, code) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err));
    EXPECT_THAT(ran.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(out_));
  };
  fails(2, show({"--part", "test"}), "no test part");
  fails(2, show({"--set", "data.kind=cats"}), "cats");
  fails(2, {"data", "show", VELDT_SOURCE "/recipes/gpt.toml", "-o", out_}, "no pictures in a text");
  fails(3, show({"--set", "data.path=none"}), "none");
  fails(2, show({"--count", "0"}), "--count");
  put_bytes(folder_ + "/light/a.png", "no picture");
  fails(4, show({}), "light/a.png");
}

}  // namespace
}  // namespace veldt::test
