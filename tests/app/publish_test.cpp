// veldt export of fields as pages, code, outlines and tiles: what it writes, says and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/app/command.h"
#include "tests/app/process.h"
#include "tests/app/small_model.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/file.h"

namespace veldt::test {
namespace {

using testing::HasSubstr;

// A model of the cub beside the test.
std::string small_cub(const TempDir& dir) {
  const std::string model = dir / "lion_cub.safetensors";
  const Ran fit = run_veldt({"fit", kCub, "-o", model, "--model", "siren", "--width", "48", "--depth", "3",
                             "--seed", "1", "--steps", "600"});
  EXPECT_EQ(fit.exit_code, 0) << fit.err;
  return model;
}

TEST(Publish, WritesEachByItsEnding) {
  const TempDir dir;
  const std::string model = small_cub(dir);
  for (const auto& [ending, holds] :
       std::vector<std::pair<std::string, std::string>>{{".html", "<title>lion cub</title>"},
                                                        {".h", "namespace x_field {"},
                                                        {".glsl", "vec3 field(vec2 p)"},
                                                        {".svg", "fill-rule=\"evenodd\""}}) {
    const Ran ran = run_veldt({"export", model, "-o", dir / ("x" + ending)});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("wrote "));
    EXPECT_THAT(io::read_file(dir / ("x" + ending)), HasSubstr(holds));
  }
  const Ran ran = run_veldt({"export", model, "-o", dir / "x.html", "--json"});
  const auto told = nlohmann::json::parse(ran.out);
  EXPECT_EQ(told.at("bytes"), std::filesystem::file_size(dir / "x.html"));
  EXPECT_LE(told.at("changed").get<double>(), 5e-4);
}

// That the same command goes on is tests/publish/pyramid_test.cpp's.
TEST(Publish, TilesStopWhenAskedAndAreNotMixedWithOthers) {
  const TempDir dir, log;
  const std::string model = small_cub(dir);
  Process stopped({"export", model, "-o", dir / "t/", "--size", "20000"}, log);
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(dir / "t/tiles.txt"); })) << stopped.err();
  stopped.send(SIGINT);
  EXPECT_EQ(stopped.wait(), 130) << stopped.err();
  EXPECT_FALSE(std::filesystem::exists(dir / "t/index.html"));
  const Ran again = run_veldt({"export", model, "-o", dir / "t/", "--size", "300"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("another size"));
  const Ran whole = run_veldt({"export", model, "-o", dir / "u/", "--size", "300", "--json"});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(nlohmann::json::parse(whole.out).at("tiles"), 13);
  EXPECT_TRUE(std::filesystem::exists(dir / "u/index.html"));
}

TEST(Publish, RefusesWhatCannotBe) {
  const TempDir dir;
  const std::string model = small_cub(dir), colours = dir / "rings.safetensors",
                    sound = dir / "tone.safetensors";
  io::write_file(dir / "rings.png", rings_png());
  EXPECT_EQ(run_veldt(small_fit(dir / "rings.png", colours, 2)).exit_code, 0);
  std::string wav = std::string(
      "RIFF\x24\x04\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\4\0\0", 44);
  for (int i = 0; i < 512; ++i) wav += std::string("\x10\x20", 2);
  io::write_file(dir / "tone.wav", wav);
  EXPECT_EQ(run_veldt(small_fit(dir / "tone.wav", sound, 2)).exit_code, 0);
  const struct {
    std::vector<std::string> arguments;
    int exit_code;
    std::string says;
  } cases[] = {
      {{dir / "none.safetensors", "-o", dir / "x.html"}, 3, "No such file"},
      {{kCub, "-o", dir / "x.html"}, 4, "PNG"},
      {{model, "-o", dir / "x.pdf"}, 2, ".html"},
      {{model, "-o", dir / "x.png"}, 2, "veldt render " + model + " -o "},
      {{model, "-o", dir / "tiles3"}, 2, "tiles3/ for tiles"},
      {{model, "-o", dir / "none/x.html"}, 6, "cannot write"},
      {{model, "-o", "/proc/none/"}, 6, "cannot write"},
      {{model, "-o", dir / "x.html", "--size", "50"}, 2, "of tiles"},
      {{model, "-o", dir / "x.svg", "--batch", "2"}, 2, "--batch"},
      {{model, "-o", model + "/"}, 6, "cannot write"},
      {{colours, "-o", dir / "x.svg"}, 2, "more than two tones"},
      {{sound, "-o", dir / "x.svg"}, 2, "a sound"},
      {{sound, "-o", dir / "x.h"}, 2, "a sound"},
      {{sound, "-o", dir / "x/"}, 2, "a sound"},
      {{dir.path(), "-o", dir / "x.html"}, 2, "folder"},
  };
  for (const auto& c : cases) {
    const Ran ran = run_veldt(std::vector<std::string>{"export"} + c.arguments);
    EXPECT_EQ(ran.exit_code, c.exit_code) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(c.says));
    EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
  }
  EXPECT_FALSE(std::filesystem::exists(dir / "x.html"));
  EXPECT_EQ(run_veldt({"export", sound, "-o", dir / "tone.html"}).exit_code, 0);
}

}  // namespace
}  // namespace veldt::test
