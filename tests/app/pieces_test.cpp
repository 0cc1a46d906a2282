// The command's parts that can be tested without a process: flags, progress, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "tests/io/faults.h"
#include "tests/support/temp_dir.h"
#include "veldt/cli/context.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/app/progress_line.h"
#include "veldt/app/score.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"

namespace veldt::app {
namespace {

// Reads one flag as a verb would.
template <class T, class Add> T read(const std::string& text, Add add) {
  CLI::App app;
  VerbOptions verb{.app = &app};
  T value{};
  add(verb, value);
  app.parse(std::vector<std::string>{text, "--x"});
  return value;
}

double number(const std::string& text) {
  return read<double>(text,
                      [](VerbOptions& verb, double& v) { add_number(verb, "--x", v, {.above = 0}, ""); });
}
std::int64_t count(const std::string& text) {
  return read<std::int64_t>(
      text, [](VerbOptions& verb, std::int64_t& v) { add_count(verb, "--x", v, {.least = 1}, ""); });
}
double duration(const std::string& text) {
  return read<double>(text, [](VerbOptions& verb, double& v) { add_duration(verb, "--x", v, ""); });
}

TEST(Options, ReadNumbersAndTimes) {
  EXPECT_EQ(number("1e-3"), 1e-3);
  EXPECT_EQ(count("10k"), 10'000);
  EXPECT_EQ(count("2M"), 2'000'000);
  EXPECT_EQ(count("1_000"), 1'000);
  EXPECT_EQ(duration("90"), 90);
  EXPECT_EQ(duration("500ms"), 0.5);
  EXPECT_EQ(duration("1.5h"), 5400);
}

TEST(Options, RefuseWhatIsOutOfRangeOrNoNumber) {
  for (const char* text : {"0", "-1", "nan", "inf", "1e400", "1,5", "", "0x10", "1 "})
    EXPECT_THROW(number(text), UsageError) << text;
  for (const char* text : {"0", "-5", "1.5", "99999999999999999999", "10K", "", "k"})
    EXPECT_THROW(count(text), UsageError) << text;
  for (const char* text : {"0", "-1s", "5 m", "5d", ""}) EXPECT_THROW(duration(text), UsageError) << text;
}

TEST(Options, TheLastOneCounts) {
  CLI::App app;
  VerbOptions verb{.app = &app};
  std::optional<double> value;
  add_number(verb, "--x", value, {}, "");
  app.parse(std::vector<std::string>{"2", "--x", "1", "--x"});
  EXPECT_EQ(value, 2);
}

TEST(Options, HaveAKeyAndAVariable) {
  CLI::App app;
  VerbOptions verb{.app = &app};
  std::int64_t every = 100;
  std::string picture;
  const Setting& setting = add_count(verb, "--preview-every", every, {}, "");
  EXPECT_EQ(setting.key(), "preview-every");
  EXPECT_EQ(setting.environment(), "VELDT_PREVIEW_EVERY");
  EXPECT_EQ(verb.find_key("preview-every"), &setting);
  add_path(verb, "--preview", picture, "");
  EXPECT_EQ(verb.find_key("preview"), nullptr);  // a path belongs to one run
}

TEST(Exit, EachErrorHasItsCode) {
  const auto code_of = [](const auto& error) {
    try {
      throw error;
    } catch (...) {
      return current_failure().code;
    }
  };
  EXPECT_EQ(code_of(UsageError("", "", "")), 2);
  EXPECT_EQ(code_of(ConfigError("", "", "")), 2);
  EXPECT_EQ(code_of(ShapeError("", "", "")), 2);
  EXPECT_EQ(code_of(IoError(IoError::Kind::missing, "", "", "")), 3);
  EXPECT_EQ(code_of(IoError(IoError::Kind::malformed, "", "", "")), 4);
  EXPECT_EQ(code_of(DeviceError("", "", "")), 5);
  EXPECT_EQ(code_of(OutOfMemory("", "", "")), 5);
  EXPECT_EQ(code_of(std::bad_alloc()), 5);
  EXPECT_EQ(code_of(IoError(IoError::Kind::unwritable, "", "", "")), 6);
  EXPECT_EQ(code_of(DivergedError("", "", "")), 7);
  EXPECT_EQ(code_of(ThresholdError("", "", "")), 8);
  EXPECT_EQ(code_of(IoError(IoError::Kind::corrupt, "", "", "")), 9);
  EXPECT_EQ(code_of(std::logic_error("")), 1);
}

TEST(Exit, ControlCharactersStayOnTheirLine) {
  EXPECT_EQ(in_three_lines({4, "a\nb\x1b[2J", "c", "d"}, false),
            "veldt: error: a\\x0ab\\x1b[2J\n  why: c\n  fix: d\n");
}

TEST(FitScore, DoubtsARedrawThatIsWorseByATenthOfADecibelOrMore) {
  EXPECT_EQ(FitScore{}.doubt(true), "");
  EXPECT_EQ(FitScore{.expected_gain = 1}.doubt(true), "");
  EXPECT_EQ(FitScore{.expected_gain = -0.04}.doubt(true), "") << "0.0 dB";
  const std::string chosen = FitScore{.expected_gain = -0.06}.doubt(true),
                    found = FitScore{.expected_gain = -0.06}.doubt(false);
  EXPECT_NE(chosen.find("by 0.1 dB; leave out the flags"), std::string::npos) << chosen;
  EXPECT_NE(found.find("by 0.1 dB; enlarge the picture itself"), std::string::npos) << found;
  EXPECT_NE(FitScore{.expected_gain = -0.04}.in_words(false).find("about +0.0 dB"), std::string::npos);
}

TEST(Terminal, TextOnOneLineCommandsNothing) {
  EXPECT_EQ(on_one_line("a\tb\a\x7f"), "a\\x09b\\x07\\x7f");
  EXPECT_EQ(on_one_line("caf\u00e9 \u009b2J \u00a0"), "caf\u00e9 \\xc2\\x9b2J \u00a0");
}

TEST(Context, QuotesForAShell) {
  EXPECT_EQ(quoted_for_shell({"veldt", "fit", "my cub.png", "it's", "", "-o=a_b.c"}),
            "veldt fit 'my cub.png' 'it'\\''s' '' -o=a_b.c");
}

TEST(Signals, TheFirstOneIsRemembered) {
  StopOnSignal stop;
  EXPECT_FALSE(stop.requested());
  EXPECT_EQ(stop.exit_code(), 0);
  ::raise(SIGTERM);
  EXPECT_TRUE(stop.requested());
  EXPECT_EQ(stop.exit_code(), 143);
}

TEST(Signals, TheSecondOneEndsTheProcess) {
  EXPECT_EQ(test::in_child([] {
              const StopOnSignal stop;
              ::raise(SIGTERM);
              ::raise(SIGINT);
              return 1;
            }),
            130);
}

TEST(Signals, WithoutAWatcherTheyEndTheProcessAsUsual) {
  EXPECT_EQ(test::in_child([] {
              { const StopOnSignal stop; }
              ::raise(SIGINT);
              return 1;
            }),
            -SIGINT);
}

// A progress line whose clock and terminal are the test's.
struct Screen {
  std::string text;
  double now = 0;
  bool live = false;
  int width = 80;

  ProgressLine::Options options(double show_after = 0, bool quiet = false) {
    return {
        .quiet = quiet,
        .show_after = show_after,
        .sink = [this](std::string_view t) { text += t; },
        .terminal = [this] { return Terminal{.live = live, .color = false, .utf8 = false, .width = width}; },
        .clock = [this] { return now; }};
  }
};

train::Progress progress_at(std::int64_t step) {
  train::Progress p;
  p.step = step;
  p.total_steps = 100;
  p.loss = 0.00123456;
  p.measure = {"PSNR", 31.236, "dB"};
  p.steps_per_second = 812.4;
  p.seconds_left = 4;
  return p;
}

TEST(ProgressLine, DescribesARun) {
  EXPECT_EQ(describe(progress_at(25)), "step 25/100  loss 0.00123  31.24 dB  812 it/s  ETA 0:04");
  train::Progress unknown = progress_at(25);
  unknown.total_steps = 0;
  unknown.seconds_left = -1;
  EXPECT_EQ(describe(unknown), "step 25  loss 0.00123  31.24 dB  812 it/s");
}

TEST(ProgressLine, SaysHowGoodTheModelIsInTheUnitOfTheTask) {
  using testing::HasSubstr;
  const auto line_with = [](std::optional<train::Measure> measure) {
    train::Progress p = progress_at(25);
    p.measure = std::move(measure);
    return describe(p);
  };
  EXPECT_THAT(line_with(train::Measure{"PSNR", INFINITY, "dB"}), HasSubstr("loss 0.00123  exact  812"));
  EXPECT_THAT(line_with(train::Measure{"PSNR", -INFINITY, "dB"}), HasSubstr("loss 0.00123  -inf dB  812"));
  EXPECT_THAT(line_with(train::Measure{"PSNR", NAN, "dB"}), HasSubstr("loss 0.00123  nan dB  812"));
  EXPECT_THAT(line_with(train::Measure{"accuracy", 0.97125}),
              HasSubstr("loss 0.00123  accuracy 0.9712  812"));
  EXPECT_THAT(line_with(std::nullopt), HasSubstr("loss 0.00123  812"));
}

TEST(ProgressLine, TellsTimesAsClocksDo) {
  EXPECT_EQ(clock_time(0), "0:00");
  EXPECT_EQ(clock_time(61.2), "1:02");
  EXPECT_EQ(clock_time(3725), "1:02:05");
  EXPECT_EQ(clock_time(-1), "?");
  EXPECT_EQ(clock_time(1e30), "?");
}

TEST(ProgressLine, IsAPlainLineNowAndThenWithTheFirstAndTheLast) {
  Screen screen;
  ProgressLine line(screen.options());
  for (int step = 0; step <= 100; step += 10) {
    screen.now = step * 0.07;
    line.update(progress_at(step));
  }
  line.finish();
  EXPECT_EQ(std::count(screen.text.begin(), screen.text.end(), '\n'), 3) << screen.text;
  EXPECT_EQ(screen.text.find('\r'), std::string::npos);
  EXPECT_TRUE(screen.text.starts_with("  0%  step 0/100"));
  EXPECT_NE(screen.text.find("\n100%  step 100/100"), std::string::npos);
}

TEST(ProgressLine, RedrawsOneLineOnATerminal) {
  Screen screen;
  screen.live = true;
  {
    ProgressLine line(screen.options());
    line.update(progress_at(50));
    screen.now = 0.01;
    line.update(progress_at(51));  // too soon to be drawn
    screen.now = 0.2;
    line.update(progress_at(52));
  }
  EXPECT_EQ(screen.text.find("step 51"), std::string::npos);
  EXPECT_TRUE(screen.text.starts_with("\r"));
  EXPECT_EQ(std::count(screen.text.begin(), screen.text.end(), '\n'), 1);
  EXPECT_TRUE(screen.text.ends_with("\n"));
}

TEST(ProgressLine, RedrawsAPanelAboveTheLine) {
  Screen screen;
  screen.live = true;
  ProgressLine line(screen.options());
  line.set_panel({"one", "two"});
  line.update(0.5, "half");
  EXPECT_TRUE(screen.text.starts_with("\rone\x1b[K\ntwo\x1b[K\n")) << screen.text;
  screen.text.clear();
  screen.now += 1;
  line.update(0.6, "more");
  EXPECT_EQ(screen.text.find("one"), std::string::npos) << screen.text;  // the panel is as it was
  screen.text.clear();
  line.set_panel({"one", "three"}, "OVER");
  screen.now += 1;
  line.update(0.7, "more");
  EXPECT_TRUE(screen.text.starts_with("\r\x1b[2Aone\x1b[K\nthree\x1b[K\n\x1b\x37\x1b[2AOVER\x1b\x38[="))
      << screen.text;
  screen.text.clear();
  line.print("a measure");
  EXPECT_TRUE(screen.text.starts_with("\r\x1b[2A\x1b[Ja measure\n\rone\x1b[K\n")) << screen.text;
}

TEST(ProgressLine, BeginsAnewInAWindowOfAnotherSizeAndAfterAStop) {
  Screen screen;
  screen.live = true;
  const StopOnSignal signals;
  ProgressLine line(screen.options());
  line.set_panel({"one", "two"});
  line.update(0.5, "half");
  const auto expect_whole_below = [&] {
    screen.text.clear();
    screen.now += 1;
    line.update(0.6, "more");
    EXPECT_TRUE(screen.text.starts_with("\r\x1b[J\rone\x1b[K\ntwo\x1b[K\n")) << screen.text;
  };
  screen.width = 40;
  expect_whole_below();
  ::raise(SIGCONT);
  expect_whole_below();
  // A note does not go up to them either, and so erases nothing that was written meanwhile.
  ::raise(SIGCONT);
  screen.text.clear();
  line.note("said");
  EXPECT_TRUE(screen.text.starts_with("\r\x1b[Kveldt: note: said\n\rone\x1b[K\n")) << screen.text;
}

// At once, whatever the run does, and below what its terminal shows.
TEST(Signals, TheFirstOneSaysWhatItDoes) {
  const std::string note = "veldt: note: stopping, and saving what there is; a second Ctrl-C ends it at once";
  for (const bool is_quiet : {false, true})
    for (const bool is_terminal : {false, true}) {
      const test::TempDir dir;
      const int master = is_terminal ? ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK) : -1;
      EXPECT_TRUE(!is_terminal || (::grantpt(master) == 0 && ::unlockpt(master) == 0));
      const std::string path = is_terminal ? ::ptsname(master) : dir / "err";
      const int err = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOCTTY, 0600);
      EXPECT_EQ(test::in_child([&] {
                  ::dup2(err, STDERR_FILENO);
                  const StopOnSignal stop(note_of_stop(is_quiet));
                  const int before = times_continued();
                  ::raise(SIGINT);
                  return times_continued() - before;
                }),
                is_quiet ? 0 : 1);
      char shown[256];
      const ssize_t got = is_terminal ? ::read(master, shown, sizeof shown) : 0;
      const std::string said = is_terminal
                                   ? std::string(shown, static_cast<std::size_t>(std::max<ssize_t>(got, 0)))
                                   : test::bytes_of(path);
      EXPECT_EQ(said, is_quiet ? "" : is_terminal ? "\r\n" + note + "\r\n" : note + "\n");
      ::close(err);
      if (is_terminal) ::close(master);
    }
}

TEST(ProgressLine, NeverWrapsANarrowTerminal) {
  for (const int width : {1, 20, 60, 80, 200}) {
    Screen screen;
    screen.live = true;
    screen.width = width;
    ProgressLine line(screen.options());
    line.update(progress_at(50));
    const std::size_t shown = screen.text.size() - std::string("\r\x1b[K").size();
    EXPECT_LT(static_cast<int>(shown), std::max(width, 11));
    line.finish();
  }
}

TEST(ProgressLine, AShortJobShowsNothing) {
  Screen screen;
  ProgressLine line(screen.options(2));
  line.update_rows(10, 20);
  screen.now = 1.9;
  line.update_rows(20, 20);
  line.finish();
  EXPECT_EQ(screen.text, "");
}

TEST(ProgressLine, WorksOutTheTimeThatRowsStillTake) {
  Screen screen;
  ProgressLine line(screen.options(2));
  screen.now = 3;
  line.update_rows(10, 40);
  EXPECT_EQ(screen.text, " 25%  row 10/40  ETA 0:09\n");
}

TEST(ProgressLine, KeepsWarningsAboveTheLiveLineAndWhenQuiet) {
  Screen screen;
  screen.live = true;
  ProgressLine line(screen.options());
  line.update(progress_at(50));
  line.warn("the disk is full");
  EXPECT_NE(screen.text.find("\r\x1b[Kveldt: warning: the disk is full\n\r"), std::string::npos);
  Screen silent;
  ProgressLine quiet(silent.options(0, true));
  quiet.update(progress_at(50));
  quiet.note("not said");
  quiet.warn("said\x1b[2J");
  quiet.finish();
  EXPECT_EQ(silent.text, "veldt: warning: said\\x1b[2J\n");
}

}  // namespace
}  // namespace veldt::app
