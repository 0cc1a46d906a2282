// Settings from flags, variables and files: which one counts, what `veldt config` says of them, and files
// that are wrong or hostile.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/app/small_model.h"
#include "tests/support/temp_dir.h"

namespace veldt::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class Config : public testing::Test {
 protected:
  Config() {
    std::filesystem::create_directories(dir_ / "home/veldt");
    std::filesystem::create_directories(dir_ / "work");
  }
  void local(const std::string& text) const { put_bytes(dir_ / "work/veldt.toml", text); }
  void user(const std::string& text) const { put_bytes(dir_ / "home/veldt/config.toml", text); }
  Ran run(const Words& words, Words variables = {}) const {
    variables.push_back("XDG_CONFIG_HOME=" + (dir_ / "home"));
    return run_veldt(words, {.directory = dir_ / "work", .environment = variables});
  }
  // value and origin of [fit] `key`
  std::pair<json, std::string> of_fit(const std::string& key, const Words& flags = {},
                                      const Words& variables = {}) const {
    const Ran ran = run(Words{"config", "show", "fit"} + flags + Words{"--json"}, variables);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const json setting = json::parse(ran.out).at("fit").at(key);
    return {setting.at("value"), setting.at("origin")};
  }
  // Each text in ./veldt.toml is an error with all the words, of three lines, with exit code 2.
  void expect_refused(const std::string& text, const Words& words) const {
    local(text);
    const Ran ran = run({"config", "show", "fit"});
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err)) << text.substr(0, 100);
    for (const std::string& word : words)
      EXPECT_NE(ran.err.find(word), std::string::npos) << word << "\n" << ran.err;
  }

  const TempDir dir_;
};
using SlowConfig = Config;  // hundreds of starts, or seconds of fits: too slow under the sanitizers

using Found = std::pair<json, std::string>;

TEST_F(Config, ATableBelowAnUnknownOneIsRefusedWhereverItStands) {
  const std::string path = dir_ / "nested.toml";
  put_bytes(path, "[nope.sub]\nkey = 1\n[nope]\n");
  const Ran ran = run({"config", "show", "--config", path});
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_NE(ran.err.find("nested.toml:1: there is no setting 'nope.sub'"), std::string::npos) << ran.err;
}

TEST_F(Config, TheStrongestSourceCounts) {
  EXPECT_EQ(of_fit("every"), Found(30.0, "default"));
  user("[fit]\nsteps = 10\n");
  EXPECT_EQ(of_fit("steps"), Found(10, dir_ / "home/veldt/config.toml:2"));
  local("# mine\n\n[fit]\nsteps = 20\n");
  EXPECT_EQ(of_fit("steps"), Found(20, "veldt.toml:4"));
  put_bytes(dir_ / "named.toml", "fit.steps = 30\n");
  EXPECT_EQ(of_fit("steps", {"--config", dir_ / "named.toml"}), Found(30, dir_ / "named.toml:1"));
  EXPECT_EQ(of_fit("steps", {"--config", dir_ / "named.toml"}, {"VELDT_STEPS=40"}), Found(40, "VELDT_STEPS"));
  EXPECT_EQ(of_fit("steps", {"--steps", "50"}, {"VELDT_STEPS=40"}), Found(50, "flag"));
}

TEST_F(Config, FilesFillInForEachOther) {
  user("[fit]\nsteps = 10\nwidth = 11\n");
  local("[fit]\nsteps = 20\n");
  EXPECT_EQ(of_fit("steps").first, 20);
  EXPECT_EQ(of_fit("width").first, 11);
}

TEST_F(Config, TheTopIsForAllVerbsAndATableForItsOwn) {
  local("threads = 3\n[fit]\nthreads = 2\n");
  EXPECT_EQ(of_fit("threads"), Found(2, "veldt.toml:3"));
  const Ran ran = run({"config", "show", "render", "--json"});
  EXPECT_EQ(json::parse(ran.out).at("render").at("threads").at("value"), 3);
}

TEST_F(Config, EveryTypeIsRead) {
  local(
      "quiet = true\n[fit]\nsteps = 1_000\nlr = 2\nomega = 30.5\nbatch = \"full\"\nmodel = 'siren'\n"
      "every = \"5m\"\ntime = 90\n");
  EXPECT_EQ(of_fit("quiet").first, true);
  EXPECT_EQ(of_fit("steps").first, 1000);
  EXPECT_EQ(of_fit("lr").first, 2.0);
  EXPECT_EQ(of_fit("omega").first, 30.5);
  EXPECT_EQ(of_fit("batch").first, "full");
  EXPECT_EQ(of_fit("model").first, "siren");
  EXPECT_EQ(of_fit("every").first, 300.0);
  EXPECT_EQ(of_fit("time").first, 90.0);
}

TEST_F(Config, AVerbObeysIt) {
  put_bytes(dir_ / "p.png", rings_png());
  local("[fit]\nsteps = 3\nwidth = 8\ndepth = 1\n");
  const Ran ran = run({"fit", dir_ / "p.png", "-o", dir_ / "m.safetensors", "--json"}, {"VELDT_QUIET=yes"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(json::parse(ran.out).at("steps"), 3);
}

TEST_F(Config, AFlagStandsAgainstWhatItExcludes) {
  local("[csv.encode]\nrgb = true\n");
  const Ran ran = run({"config", "show", "csv", "encode", "--threshold", "0.5", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out).at("csv encode").at("rgb").at("value"), false);
  local("[csv.encode]\nrgb = true\nthreshold = 0.5\n");
  const Ran both = run({"config", "show", "csv", "encode"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_NE(both.err.find("veldt.toml:"), std::string::npos) << both.err;
}

TEST_F(Config, ErrorsNameFileLineAndTheNearestKey) {
  expect_refused("[fit]\n\nstesp = 3\n", {"veldt.toml:3", "'fit.stesp'", "did you mean 'steps'?"});
  expect_refused("[fti]\n", {"veldt.toml:1", "did you mean 'fit'?"});
  expect_refused("steps = 3\n", {"veldt.toml:1", "[fit]"});
  expect_refused("[render]\nsize = 1.5\n",
                 {"veldt.toml:2", "'render.size'"});  // of another verb than the one shown
  expect_refused("[fit]\nsteps = \"3\"\n", {"veldt.toml:2", "a text", "steps = 100"});
  expect_refused("[fit]\nsteps = 3.5\n", {"veldt.toml:2", "a number"});
  expect_refused("[fit]\nsteps = [3]\n", {"veldt.toml:2", "a list"});
  expect_refused("[fit.steps]\n", {"veldt.toml:1", "a table"});
  expect_refused("fit = 3\n", {"veldt.toml:1", "[fit]"});
  expect_refused("[fit]\nsteps = 0\n", {"veldt.toml:2", "'steps' cannot be '0'"});
  expect_refused("[fit]\nlr = nan\n", {"veldt.toml:2", "finite"});
  expect_refused("[fit]\nmodel = \"sirne\"\n", {"veldt.toml:2", "did you mean 'siren'?"});
  expect_refused("[fit]\nsteps = 3\nsteps = 4\n", {"veldt.toml:3", "'steps'"});
  expect_refused("[fit]\n[fit]\n", {"veldt.toml:2", "fit"});
  expect_refused("[fit\n", {"veldt.toml:1"});
  expect_refused("\n[\n", {"veldt.toml:2", "has no name after it"});
  expect_refused("fo\u00e3 = 1", {"veldt.toml:1", "beyond ASCII"});
  expect_refused("[fit]\n\"a\\nb\" = 1\n", {"veldt.toml:2", "a\\x0ab"});
}

TEST_F(Config, NamesNoFilesToWrite) {
  put_bytes(dir_ / "p.png", rings_png());
  for (const char* key : {"output", "preview", "checkpoint"})
    expect_refused(std::string("[fit]\n") + key + " = \"/tmp/x\"\n", {"veldt.toml:2", "command line"});
  local("");
  const Ran ran = run({"fit", dir_ / "p.png", "-o", dir_ / "m.safetensors", "--steps", "1", "--width", "4"},
                      {"VELDT_PREVIEW=" + (dir_ / "preview.png")});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(dir_ / "preview.png"));
}

TEST_F(Config, HostileFilesAreRefusedQuickly) {
  expect_refused(std::string("steps\0= 3", 9), {"veldt.toml:1"});
  expect_refused("a = \"\xff\xfe\"\n", {"veldt.toml:1"});
  expect_refused(std::string(1 << 20, '#'), {"1048576 bytes"});
  expect_refused(std::string(5000, '['), {"veldt.toml:1"});
  expect_refused("a = " + std::string(1500, '['), {"veldt.toml:1"});
  std::string nested = "a";
  for (int i = 0; i < 900; ++i) nested += ".a";
  expect_refused("[" + nested + "]\n" + nested + " = 1\n", {"veldt.toml:1"});
  std::string deeper;  // each line adds to the table above it
  for (int i = 0; i < 70; ++i) deeper += "[" + nested + "]\n" + nested + ".b" + std::to_string(i) + " = 1\n";
  expect_refused(deeper, {"veldt.toml:"});
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "k" + std::to_string(i) + "=1\n";
  local(many);
  const Ran ran = run({"config", "show", "fit"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_LT(ran.cpu_seconds, 1);
}

TEST_F(Config, TextsAndCommentsMayHoldAnyLetter) {
  local(
      "\ufeff# \u00e3 \u3001\r\n[ \"fit\" ] # \u00e3\nwidth = 7#\u3001\nmodel = \"s\\u0069ren\" # '\n"
      "lr=1e-3\n'omega'= 30.5\nevery ='''\n5m'''\n");
  EXPECT_EQ(of_fit("width"), Found(7, "veldt.toml:3"));
  EXPECT_EQ(of_fit("model"), Found("siren", "veldt.toml:4"));
  EXPECT_EQ(of_fit("every"), Found(300.0, "veldt.toml:7"));
  expect_refused("a = \"\u00e3\"\n'\u3001' = \"\"\"\u00e3\n\u00e3\"\"\"\n", {"there is no setting"});
}

TEST_F(Config, WhatIsNoPlainFileIsRefused) {
  std::filesystem::create_directory(dir_ / "work/veldt.toml");
  EXPECT_EQ(run({"info", "x"}).exit_code, 3);
  std::filesystem::remove(dir_ / "work/veldt.toml");
  ASSERT_EQ(::mkfifo((dir_ / "work/veldt.toml").c_str(), 0600), 0);
  const Ran fifo = run({"info", "x"});  // nobody writes to it: opening it must not wait
  EXPECT_EQ(fifo.exit_code, 3);
  EXPECT_TRUE(has_three_lines(fifo.err));
}

TEST_F(Config, AFileThatIsNamedMustBeThere) {
  const Ran ran = run({"config", "show", "--config", dir_ / "none.toml"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_TRUE(has_three_lines(ran.err));
  EXPECT_NE(ran.err.find("none.toml"), std::string::npos);
}

// As of another user's HOME. A link to itself is no place that root may enter either.
TEST_F(Config, AHomeThatCannotBeEnteredHasNoSettings) {
  std::filesystem::remove_all(dir_ / "home");
  std::filesystem::create_symlink("home", dir_ / "home");
  const Ran ran = run({"config", "show", "fit"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
}

TEST_F(Config, ABrokenFileDoesNotStopHelp) {
  local("[[[");
  EXPECT_EQ(run({"fit", "--help"}).exit_code, 0);
  EXPECT_EQ(run({"config", "path"}).exit_code, 0);
}

// Whatever `config show` lists can be set, by that key and by that variable.
TEST_F(SlowConfig, EveryKeyAndVariableIsKnown) {
  const json all = json::parse(run({"config", "show", "--json"}).out);
  ASSERT_EQ(all.size(), 23u);
  for (const auto& [verb, settings] : all.items())
    for (const auto& [key, setting] : settings.items()) {
      std::string table = verb;
      std::replace(table.begin(), table.end(), ' ', '.');
      expect_refused("[" + table + "]\n" + key + " = []\n",
                     {"veldt.toml:2", "'" + table + "." + key + "' cannot be a list", key + " = "});
      local("");
      if (verb != "fit") continue;
      const std::string variable = setting.at("variable");
      const Ran ran = run({"config", "show", "fit"}, {variable + "=?"});
      EXPECT_NE(ran.err.find(variable + " cannot be '?'"), std::string::npos) << ran.err;
    }
}

TEST_F(Config, MistypedVariablesAreMentioned) {
  const Ran ran = run({"config", "show", "fit"}, {"VELDT_STPES=3", "VELDT_XYZZY=3"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_NE(ran.err.find("did you mean VELDT_STEPS?"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("XYZZY"), std::string::npos) << ran.err;
}

TEST_F(Config, VariablesAreNamedInErrors) {
  const Ran ran = run({"config", "show", "fit"}, {"VELDT_STEPS=many"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("VELDT_STEPS cannot be 'many'"), std::string::npos) << ran.err;
}

TEST_F(Config, AFaultOfThePlanPointsAtTheSettings) {
  put_bytes(dir_ / "p.png", rings_png());
  local("[fit]\nloss = \"hinge\"\n");  // for pictures of two levels
  const Ran ran = run({"fit", dir_ / "p.png", "-o", dir_ / "m.safetensors", "--steps", "1"});
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_NE(ran.err.find("veldt config show fit"), std::string::npos) << ran.err;
}

TEST_F(Config, PathListsWhatIsLookedFor) {
  local("");
  const Ran ran = run({"config", "path", "--config", "x.toml", "--json"});
  const json files = json::parse(ran.out).at("files");
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].at("path"), "x.toml");
  EXPECT_EQ(files[1].at("exists"), true);
  EXPECT_EQ(files[2].at("path"), dir_ / "home/veldt/config.toml");
  EXPECT_EQ(files[2].at("exists"), false);
}

TEST_F(Config, ShowsFlagsAsTheVerbWouldReadThem) {
  EXPECT_EQ(of_fit("width", {"--width=7"}), Found(7, "flag"));
  const Ran wrong = run({"config", "show", "fit", "--wdith", "7"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("did you mean '--width'?"), std::string::npos) << wrong.err;
  EXPECT_NE(run({"config", "show", "fti"}).err.find("did you mean 'fit'?"), std::string::npos);
}

}  // namespace
}  // namespace veldt::test
