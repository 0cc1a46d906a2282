// The picture of a fit in a terminal: which way is chosen, what is written, and that a terminal is left as it
// was.
#include "veldt/app/terminal_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <csignal>
#include <map>
#include <optional>

#include "tests/app/command.h"
#include "tests/app/pseudo_terminal.h"
#include "tests/app/terminal_text.h"
#include "tests/support/temp_dir.h"
#include "veldt/app/field_pixels.h"
#include "veldt/app/picture_panel.h"
#include "veldt/cli/environment.h"
#include "veldt/io/image.h"

namespace veldt::test {
namespace {

using app::PictureWay;
using Variables = std::map<std::string, std::string>;

// These variables and no others of those that tell terminals apart, for as long as it exists.
class OnlyVariables {
 public:
  explicit OnlyVariables(const Variables& given) {
    for (const char* name : {"TERM", "TERM_PROGRAM", "COLORTERM", "TMUX", "STY", "KITTY_WINDOW_ID"}) {
      if (const char* old = ::getenv(name)) old_[name] = old;
      ::unsetenv(name);
      names_.emplace_back(name);
    }
    for (const auto& [name, value] : given) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~OnlyVariables() {
    for (const std::string& name : names_) {
      ::unsetenv(name.c_str());
      if (old_.contains(name)) ::setenv(name.c_str(), old_[name].c_str(), 1);
    }
  }
  OnlyVariables(const OnlyVariables&) = delete;
  OnlyVariables& operator=(const OnlyVariables&) = delete;

 private:
  Variables old_;
  std::vector<std::string> names_;
};

constexpr cli::Terminal kScreen{.live = true, .color = true, .utf8 = true, .width = 80, .height = 40};

TEST(TerminalPicture, IsShownAsTheTerminalCan) {
  const auto way = [](const Variables& variables, const cli::Terminal& terminal = kScreen) {
    const OnlyVariables only(variables);
    return app::picture_way("auto", terminal);
  };
  EXPECT_EQ(way({{"TERM", "xterm-kitty"}}), PictureWay::kitty);
  EXPECT_EQ(way({{"TERM", "xterm-256color"}, {"KITTY_WINDOW_ID", "1"}}), PictureWay::kitty);
  EXPECT_EQ(way({{"TERM", "xterm-256color"}, {"TERM_PROGRAM", "iTerm.app"}}), PictureWay::iterm);
  EXPECT_EQ(way({{"TERM", "xterm-256color"}, {"TERM_PROGRAM", "WezTerm"}}), PictureWay::iterm);
  EXPECT_EQ(way({{"TERM", "xterm-256color"}}), PictureWay::blocks);
  EXPECT_EQ(way({{"TERM", "xterm"}, {"COLORTERM", "truecolor"}}), PictureWay::blocks);
  EXPECT_EQ(way({{"TERM", "linux"}}), PictureWay::off);
  // What runs within another shows only what that one passes on.
  EXPECT_EQ(way({{"TERM", "tmux-256color"}, {"KITTY_WINDOW_ID", "1"}}), PictureWay::blocks);
  EXPECT_EQ(way({{"TERM", "xterm-kitty"}, {"TMUX", "/tmp/tmux"}, {"COLORTERM", "truecolor"}}),
            PictureWay::blocks);
  const Variables kitty{{"TERM", "xterm-kitty"}};
  cli::Terminal other = kScreen;
  other.color = false;
  EXPECT_EQ(way(kitty, other), PictureWay::off);
  other = kScreen;
  other.utf8 = false;
  EXPECT_EQ(way(kitty, other), PictureWay::off);
  // Who names a way gets it, but never where there is no terminal.
  other.live = true;
  EXPECT_EQ(app::picture_way("iterm", other), PictureWay::iterm);
  other.live = false;
  EXPECT_EQ(app::picture_way("iterm", other), PictureWay::off);
}

TEST(TerminalPicture, FitsIntoTheWindow) {
  for (const PictureWay way : {PictureWay::blocks, PictureWay::sixel, PictureWay::iterm, PictureWay::kitty})
    for (const int width : {1, 5, 30, 200})
      for (const int height : {1, 6, 24, 100})
        for (const auto& [w, h] : {std::pair(1, 1), {1000, 10}, {10, 1000}, {768, 512}}) {
          cli::Terminal terminal = kScreen;
          terminal.width = width;
          terminal.height = height;
          const app::PicturePlace place = app::picture_place(way, terminal, w, h);
          EXPECT_LT(place.columns, width);
          EXPECT_LE(place.rows + 2, std::max(height, 2));
          EXPECT_TRUE(place.rows == 0 || place.pixels.width * place.pixels.height >= 1);
        }
}

std::vector<std::uint8_t> decoded(const std::string& text) {
  std::vector<std::uint8_t> out;
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i + 3 < text.size(); i += 4) {
    std::uint32_t four = 0;
    for (std::size_t k = 0; k < 4; ++k)
      four = four << 6 | static_cast<std::uint32_t>(text[i + k] == '=' ? 0 : digits.find(text[i + k]));
    for (int k = 0; k < 3 && text[i + static_cast<std::size_t>(k) + 1] != '='; ++k)
      out.push_back(static_cast<std::uint8_t>(four >> (16 - 8 * k)));
  }
  return out;
}

std::vector<std::uint8_t> ramp(std::size_t bytes) {
  std::vector<std::uint8_t> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::uint8_t>(i * 7);
  return out;
}

TEST(TerminalPicture, GoesToKittyInChunks) {
  const std::vector<std::uint8_t> rgb = ramp(3 * 60 * 40);
  const app::PictureText text = app::picture_text(PictureWay::kitty, {30, 10, {60, 40}}, rgb, true);
  EXPECT_EQ(text.lines, std::vector<std::string>(10));
  std::string all;
  std::size_t chunks = 0;
  for (std::size_t at = 0; at < text.over.size(); ++chunks) {
    ASSERT_EQ(text.over.substr(at, 3), "\x1b_G");
    const std::size_t begin = text.over.find(';', at) + 1, end = text.over.find("\x1b\\", at);
    const std::string keys = text.over.substr(at + 3, begin - at - 4);
    ASSERT_LE(end - begin, 4096u);
    EXPECT_TRUE(keys.ends_with(end + 2 == text.over.size() ? "m=0" : "m=1")) << keys;
    EXPECT_EQ(at == 0, keys.find("f=24,s=60,v=40,c=30,r=10,") != std::string::npos) << keys;
    all += text.over.substr(begin, end - begin);
    at = end + 2;
  }
  EXPECT_EQ(chunks, 3u);
  EXPECT_EQ(decoded(all), rgb);
}

TEST(TerminalPicture, GoesToITermAsAJpeg) {
  const std::vector<std::uint8_t> rgb(3 * 32 * 16, 200);
  const app::PictureText text = app::picture_text(PictureWay::iterm, {16, 4, {32, 16}}, rgb, true);
  ASSERT_TRUE(text.over.starts_with("\x1b]1337;File=inline=1;")) << text.over.substr(0, 40);
  const std::size_t begin = text.over.find(':') + 1;
  const std::vector<std::uint8_t> jpeg = decoded(text.over.substr(begin, text.over.size() - 1 - begin));
  const io::Picture picture = io::read_picture(std::as_bytes(std::span(jpeg)), "shown");
  EXPECT_EQ(picture.image.shape(), Shape({16, 32, 3}));
  EXPECT_NEAR(picture.image.data<float>()[0], 200 / 255.0, 0.02);
}

TEST(TerminalPicture, IsTwoPixelsACharacterElsewhere) {
  const std::vector<std::uint8_t> rgb = {255, 0, 0, 255, 0, 0, 0, 0, 255, 0, 0, 255, 1, 2, 3, 250, 250, 250};
  const auto lines = [&](bool true_colour) {
    return app::picture_text(PictureWay::blocks, {2, 2, {2, 3}}, rgb, true_colour).lines;
  };
  EXPECT_EQ(lines(true), (std::vector<std::string>{"\x1b[38;2;255;0;0;48;2;0;0;255m▀▀\x1b[0m",
                                                   "\x1b[38;2;1;2;3;49m▀\x1b[38;2;250;250;250;49m▀\x1b[0m"}));
  EXPECT_EQ(lines(false), (std::vector<std::string>{"\x1b[38;5;196;48;5;21m▀▀\x1b[0m",
                                                    "\x1b[38;5;16;49m▀\x1b[38;5;231;49m▀\x1b[0m"}));
}

TEST(TerminalPicture, IsDrawnSoSeldomThatItCostsAHundredth) {
  field::FieldOptions options;
  options.widths = {8};
  options.width = options.height = 8;
  const field::Field field(options, 1);
  double now = 0, looked = 0;
  app::ProgressLine line({.quiet = true});
  // Each look at the clock takes 20 ms, so a picture takes that.
  app::PicturePanel panel(line, field, PictureWay::kitty, [&] { return ++looked, now += 0.02; });
  const auto looks = [&](double until) {
    looked = 0;
    while (now < until) panel.on_step();
    return looked;
  };
  looks(100);
  EXPECT_NEAR(now, 100, 0.1);
  // A step that draws looks twice: one in a hundred looks is one.
  int drawn = 0;
  for (int step = 0; step < 1000; ++step) {
    looked = 0;
    panel.on_step();
    drawn += looked == 2 ? 1 : 0;
  }
  EXPECT_GE(drawn, 8);
  EXPECT_LE(drawn, 10);
}

class PictureOnTerminal : public testing::TestWithParam<const char*> {
 protected:
  std::vector<std::string> fit(const std::string& time) const {
    return {"fit",     kCub,    "-o",      model_, "--time",    time,
            "--style", "photo", "--prior", "none", "--picture", GetParam()};
  }
  // What Ctrl-C leaves: a line begun anew, plain, with a cursor.
  static void expect_clean(const std::string& shown) {
    const TerminalText text = read_terminal(shown);
    EXPECT_TRUE(text.is_whole);
    EXPECT_TRUE(text.is_plain);
    EXPECT_TRUE(text.shows_cursor);
    EXPECT_EQ(text.unknown, "");
    EXPECT_TRUE(shown.ends_with("\n"));
  }
  const TempDir dir_;
  const std::string model_ = dir_ / "cub.safetensors";
  const std::string live_ = "it/s";  // of the progress line, below the picture
};

TEST_P(PictureOnTerminal, LeavesItAsItWasAfterCtrlC) {
  OnTerminal fitting(fit("60"));
  std::string shown = fitting.shown_until(live_);
  fitting.send(SIGINT);
  shown += fitting.shown();
  EXPECT_EQ(fitting.wait(), 130);
  expect_clean(shown);
  const TerminalText text = read_terminal(shown);
  const bool is_blocks = std::string(GetParam()) == "blocks";
  EXPECT_EQ(is_blocks, text.printed.find("▀") != std::string::npos);
  EXPECT_EQ(is_blocks, text.strings.empty()) << text.strings;
}

// At once, perhaps within a picture.
TEST_P(PictureOnTerminal, LeavesItAsItWasAfterASecondCtrlC) {
  if (std::string(GetParam()) != "kitty") return;  // the longest strings
  OnTerminal fitting(fit("60"));
  std::string shown = fitting.shown_until(live_);
  fitting.send(SIGINT);
  fitting.send(SIGINT);
  shown += fitting.shown();
  EXPECT_EQ(fitting.wait(), 130);
  expect_clean(shown);
}

INSTANTIATE_TEST_SUITE_P(, PictureOnTerminal, testing::Values("blocks", "kitty", "iterm", "sixel"));

TEST(TerminalPicture, IsNotInPipes) {
  const TempDir dir;
  const Ran ran =
      run_veldt({"fit", kCub, "-o", dir / "cub.safetensors", "--steps", "5", "--picture", "kitty"},
                {.environment = {"TERM=xterm-kitty", "COLORTERM=truecolor"}});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ((ran.out + ran.err).find('\x1b'), std::string::npos);
  const Ran bad = run_veldt({"fit", kCub, "-o", dir / "cub.safetensors", "--picture", "ascii"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, testing::HasSubstr("kitty"));
}

}  // namespace
}  // namespace veldt::test
