// The command as a whole: help, version, streams, environment.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temp_dir.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/command.h"
#include "veldt/cli/exit.h"

namespace veldt::test {
namespace {

TEST(Command, WithoutArgumentsShowsHelp) {
  const Ran ran = run_veldt({});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, run_veldt({"--help"}).out);
  for (const char* verb : {"fit", "render", "compare", "info", "csv"})
    EXPECT_NE(ran.out.find(std::string("\n  ") + verb + " "), std::string::npos) << ran.out;
}

TEST(Command, EachVerbHasHelpWithExamples) {
  const std::vector<std::vector<std::string>> verbs = {
      {"fit"},           {"render"},         {"compare"},        {"info"},   {"csv"},  {"csv", "encode"},
      {"csv", "decode"}, {"doctor"},         {"completion"},     {"resize"}, {"pack"}, {"unpack"},
      {"config"},        {"config", "show"}, {"config", "path"}, {"export"}};
  for (std::vector<std::string> words : verbs) {
    std::vector<std::string> asked = {"help"};
    asked.insert(asked.end(), words.begin(), words.end());
    words.emplace_back("--help");
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, 0) << words[0];
    EXPECT_NE(ran.out.find("usage: veldt " + words[0]), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("examples:\n  veldt " + words[0]), std::string::npos) << ran.out;
    EXPECT_EQ(run_veldt(asked).out, ran.out);
  }
}

TEST(Command, HelpFitsIntoAHundredAndTenColumns) {
  for (const char* verb : {"fit", "render", "resize", "compare", "info", "csv"}) {
    std::size_t widest = 0, begin = 0;
    const std::string text = run_veldt({verb, "--help"}).out;
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      widest = std::max(widest, end - begin);
      begin = end + 1;
    }
    EXPECT_LE(widest, 110u) << text;
  }
}

TEST(Command, SaysItsVersion) { EXPECT_EQ(run_veldt({"--version"}).out, "veldt " VELDT_VERSION "\n"); }

// CPU time, not wall time, because the test machine may be busy.
TEST(Command, HelpStartsWithinTwentyMilliseconds) {
  std::vector<double> seconds;
  for (int i = 0; i < 9; ++i) seconds.push_back(run_veldt({"--help"}).cpu_seconds);
  std::nth_element(seconds.begin(), seconds.begin() + 4, seconds.end());
#ifdef NDEBUG
  constexpr double kLimit = 0.02;
#else
  constexpr double kLimit = 0.05;
#endif
  EXPECT_LT(seconds[4], test::kAddressSanitizer ? 0.3 : kLimit);  // the sanitizer's own start takes 0.06
}

TEST(Command, AReaderThatGoesAwayIsNoError) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"}, {"info", kCub}}) {
    const Ran ran = run_veldt(words, {.out = Stream::reader_gone});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.err, "");
  }
}

TEST(Command, AFullDiskBehindStdoutIsOne) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"info", kCub, "--json"}}) {
    const Ran ran = run_veldt(words, {.out = Stream::full_device});
    EXPECT_EQ(ran.exit_code, 6);
    EXPECT_TRUE(has_three_lines(ran.err));
  }
}

TEST(Command, ClosedStreamsDoNotEndUpInOutputs) {
  const TempDir dir;
  const RunOptions closed{.in = Stream::closed, .out = Stream::closed};
  EXPECT_EQ(run_veldt({"csv", "encode", kCub, "-o", dir / "open.csv"}).exit_code, 0);
  const Ran ran = run_veldt({"csv", "encode", kCub, "-o", dir / "closed.csv", "--json"}, closed);
  EXPECT_EQ(ran.exit_code, 6);  // its object is lost
  EXPECT_TRUE(has_three_lines(ran.err));
  EXPECT_EQ(bytes_of(dir / "open.csv"), bytes_of(dir / "closed.csv"));
}

TEST(Command, WhatIsLostOnAClosedStdoutIsAnError) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"--version"}, {"info", kCub}, {"info", kCub, "--json"}}) {
    const Ran ran = run_veldt(words, {.out = Stream::closed});
    EXPECT_EQ(ran.exit_code, 6) << words[0];
    EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
    EXPECT_NE(ran.err.find("closed from the start"), std::string::npos) << ran.err;
  }
}

TEST(Command, TakesNamesThatAreNotUtf8) {
  const TempDir dir;
  const std::string name = dir / "cub \xff\xfe.csv";
  ASSERT_EQ(run_veldt({"csv", "encode", kCub, "-o", name}).exit_code, 0);
  const Ran ran = run_veldt({"info", name, "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(nlohmann::json::parse(ran.out).at("width"), 200);
  EXPECT_EQ(run_veldt({"info", dir / "missing \xff"}).exit_code, 3);
}

TEST(Command, NumbersDoNotDependOnTheLocale) {
  const TempDir dir;
  const RunOptions german{.environment = {"LC_ALL=de_DE.UTF-8", "LANG=de_DE.UTF-8"}};
  EXPECT_EQ(run_veldt({"compare", kCub, kCub, "--min-psnr", "1.5", "--json"}, german).out,
            run_veldt({"compare", kCub, kCub, "--min-psnr", "1.5", "--json"}).out);
}

TEST(Command, QuietSaysNothingOnStderr) {
  const TempDir dir;
  const Ran loud = run_veldt({"csv", "encode", kCub, "-o", dir / "a.csv"});
  EXPECT_NE(loud.err, "");
  EXPECT_EQ(loud.out, "");
  EXPECT_EQ(run_veldt({"csv", "encode", kCub, "-o", dir / "a.csv", "--quiet"}).err, "");
}

TEST(Command, CanBeReadWithoutBeingRun) {
  const TempDir dir;
  put_bytes(dir / "a.toml", "[fit]\nsteps = 3\n");
  put_bytes(dir / "b.toml", "[fit]\nsteps = -3\n");
  EXPECT_EQ(cli::parse_command(app::program(), {"veldt", "csv", "encode", "no.png", "-o", dir / "a.csv"}),
            "csv encode");
  EXPECT_EQ(count_entries(dir.path()), 2u);
  EXPECT_EQ(
      cli::parse_command(app::program(), {"veldt", "fit", "no.png", "-o", "a", "--config", dir / "a.toml"}),
      "fit");
  EXPECT_THROW(
      cli::parse_command(app::program(), {"veldt", "fit", "no.png", "-o", "a", "--config", dir / "b.toml"}),
      UsageError);
  EXPECT_THROW(cli::parse_command(app::program(), {"veldt", "fit", "no.png"}), UsageError);
  for (const char* asks : {"help", "--version"})
    EXPECT_EQ(cli::parse_command(app::program(), {"veldt", asks}), "");
}

TEST(Command, TheManualIsAsItWouldBeMadeNow) {
  const Ran ran = run_veldt({"help", "--markdown"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_TRUE(ran.out == bytes_of(VELDT_SOURCE "/docs/cli.md"))
      << "docs/cli.md is out of date; make it anew: veldt help --markdown > docs/cli.md";
}

TEST(Command, AFileMayBeCalledLikeAVerb) {
  const TempDir dir;
  put_bytes(dir / "info", bytes_of(kCub));
  const Ran ran = run_veldt({"compare", "info", "info", "--json"}, {.directory = dir.path()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
}

}  // namespace
}  // namespace veldt::test
