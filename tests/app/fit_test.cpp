// veldt fit through the real command: what it prints and writes, how it is stopped and continued.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/app/process.h"
#include "tests/app/small_model.h"
#include "tests/io/faults.h"
#include "veldt/io/directory.h"
#include "veldt/io/image.h"

namespace veldt::test {
namespace {

using Words = std::vector<std::string>;

class FitCommand : public testing::Test {
 protected:
  FitCommand() { put_bytes(picture_, rings_png()); }
  Words small(int steps = 30) const { return small_fit(picture_, model_, steps); }
  // Long enough that a signal arrives while it works.
  Words long_run() const {
    return small(1'000'000'000) + Words{"--checkpoint", checkpoints_, "--every", "50ms"};
  }

  const TempDir dir_, log_;
  const std::string picture_ = dir_ / "p.png", model_ = dir_ / "m.safetensors", checkpoints_ = dir_ / "run";
};
using SlowFitCommand = FitCommand;  // hundreds of starts, or seconds of fits: too slow under the sanitizers

TEST_F(FitCommand, SaysWhatItLearned) {
  const Ran ran = run_veldt(small());
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("337 parameters, 30 steps"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("PSNR"), std::string::npos) << ran.out;
  EXPECT_NE(ran.err.find("step 30/30"), std::string::npos) << ran.err;
  EXPECT_EQ(count_entries(dir_.path()), 2u);
}

TEST_F(FitCommand, PrintsOneJsonObjectWithItsKeys) {
  const Ran ran = run_veldt(small() + Words{"--json", "--quiet"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  const auto json = nlohmann::json::parse(ran.out);
  for (const char* key : {"output", "parameters", "steps", "seconds", "loss", "psnr", "ssim", "identical"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json.at("stopped_by"), "steps");
  EXPECT_EQ(json.at("steps"), 30);
}

TEST_F(FitCommand, EscapesTheNameInItsResults) {
  const Ran ran = run_veldt(small_fit(picture_, dir_ / "o\x1b[31m\nx.safetensors", 1));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("o\\x1b[31m\\x0ax.safetensors: 337 parameters"), std::string::npos) << ran.out;
}

TEST_F(FitCommand, WritesNoModelUnderAPicturesName) {
  const Ran ran = run_veldt({"fit", picture_, "-o", dir_ / "new.png", "--steps", "1"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("name it .safetensors, and draw it with veldt render"), std::string::npos)
      << ran.err;
  EXPECT_EQ(count_entries(dir_.path()), 1u);
}

TEST_F(FitCommand, ProfilesWithTheSameResult) {
  ASSERT_EQ(run_veldt(small()).exit_code, 0);
  const auto plain = tensors_of(model_);
  const Ran ran = run_veldt(small() + Words{"--profile", "--quiet"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.err.find("kernel"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("mlp loss"), std::string::npos) << ran.err;
  EXPECT_EQ(tensors_of(model_), plain);
}

TEST_F(FitCommand, QuietSaysNothingOnStderr) {
  const Ran ran = run_veldt(small() + Words{"--quiet", "--checkpoint", checkpoints_, "--every", "1ms"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
}

TEST_F(FitCommand, IsTheSameForTheSameSeed) {
  ASSERT_EQ(run_veldt(small()).exit_code, 0);
  const auto first = tensors_of(model_);
  ASSERT_EQ(run_veldt(small()).exit_code, 0);
  EXPECT_EQ(tensors_of(model_), first);
  ASSERT_EQ(run_veldt(small() + Words{"--seed", "5"}).exit_code, 0);
  EXPECT_NE(tensors_of(model_), first);
}

TEST_F(FitCommand, DrawsPreviews) {
  const Ran ran = run_veldt(small() + Words{"--preview", dir_ / "now_{step}.png", "--preview-every", "10"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* name : {"now_000000.png", "now_000010.png", "now_000020.png", "now_000030.png"})
    EXPECT_EQ(io::image_info(dir_ / name).width, 32) << name;
  EXPECT_EQ(count_entries(dir_.path()), 6u);
}

TEST_F(FitCommand, StopsOnTime) {
  Words words = small() + Words{"--time", "300ms", "--json", "--quiet"};
  words.erase(words.begin() + 4, words.begin() + 6);  // --steps 30
  const Ran ran = run_veldt(words);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json.at("stopped_by"), "time");
  EXPECT_LT(json.at("seconds").get<double>(), 10);
}

TEST_F(FitCommand, ExitsWithSevenWhenItDivergesAndWritesNoModel) {
  const Ran ran =
      run_veldt(small(500) + Words{"--optimizer", "sgd", "--lr", "1000", "--model", "relu", "--quiet"});
  EXPECT_EQ(ran.exit_code, 7) << ran.err;
  EXPECT_TRUE(has_three_lines(ran.err));
  EXPECT_EQ(count_entries(dir_.path()), 1u);
}

TEST_F(FitCommand, RefusesToResumeWithoutAPlace) {
  const Ran ran = run_veldt(small() + Words{"--resume", "--quiet"});
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_TRUE(has_three_lines(ran.err));
}

// One command line begins a run, continues it, and does nothing more when it is over, as schedulers want it.
TEST_F(FitCommand, ResumesWhatIsThereAndExtendsIt) {
  const Words line = small() + Words{"--checkpoint", checkpoints_, "--resume"};
  const Ran first = run_veldt(line), again = run_veldt(line);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, testing::HasSubstr("no run to resume in"));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, testing::HasSubstr(" 30 steps"));
  EXPECT_THAT(again.err, testing::Not(testing::HasSubstr("no run to resume in")));
  const Ran longer = run_veldt(line + Words{"--steps", "45"});
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_THAT(longer.out, testing::HasSubstr(" 45 steps"));
}

TEST_F(FitCommand, BeginsWithAModel) {
  ASSERT_EQ(run_veldt(small(200) + Words{"--quiet"}).exit_code, 0);
  const std::string first = dir_ / "first.safetensors";
  std::filesystem::rename(model_, first);
  const Words one = {"fit", picture_, "-o", model_, "--steps", "1", "--batch", "128", "--json", "--quiet"};
  const auto loss_after = [](const Words& line) {
    const Ran ran = run_veldt(line);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return nlohmann::json::parse(ran.out).at("loss").get<double>();
  };
  EXPECT_LT(loss_after(one + Words{"--init", first}),
            0.5 * loss_after(small(1) + Words{"--json", "--quiet"}));
  EXPECT_EQ(run_veldt({"info", model_, "--json"}).exit_code, 0);
  const auto refused = [&](const Words& line, int code, const std::string& words) {
    const Ran ran = run_veldt(line);
    EXPECT_EQ(ran.exit_code, code) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err));
    EXPECT_THAT(ran.err, testing::HasSubstr(words));
  };
  refused(one + Words{"--init", first, "--model", "relu"}, 2, "has its network");
  refused(one + Words{"--init", dir_ / "missing.safetensors"}, 3, "missing.safetensors");
  put_bytes(dir_ / "rgb.png",
            make_png({.width = 8, .height = 8, .type = PNG_COLOR_TYPE_RGB}, std::vector<int>(192, 90)));
  Words other = one + Words{"--init", first};
  other[1] = dir_ / "rgb.png";
  refused(other, 2, "a model of a picture of 1 channel");
}

TEST_F(FitCommand, RefusesToResumeADifferentRun) {
  const Words kept = {"--checkpoint", checkpoints_, "--quiet"};
  ASSERT_EQ(run_veldt(small() + kept).exit_code, 0);
  const Ran fresh = run_veldt(small() + kept);
  EXPECT_EQ(fresh.exit_code, 2);
  EXPECT_NE(fresh.err.find("already holds a run"), std::string::npos) << fresh.err;
  const Ran other = run_veldt(small() + kept + Words{"--resume", "--batch", "64"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("batch was 128 and is 64"), std::string::npos) << other.err;
  EXPECT_TRUE(has_three_lines(other.err));
}

TEST_F(FitCommand, ExitsWithNineWhenNoCheckpointIsWhole) {
  const Words kept = {"--checkpoint", checkpoints_, "--quiet"};
  ASSERT_EQ(run_veldt(small() + kept).exit_code, 0);
  put_bytes(checkpoints_ + "/ckpt-00000030/model.safetensors", "damaged");
  const Ran ran = run_veldt(small() + kept + Words{"--resume"});
  EXPECT_EQ(ran.exit_code, 9) << ran.err;
  EXPECT_TRUE(has_three_lines(ran.err));
}

TEST_F(FitCommand, RefusesADirectoryThatAnotherProcessTrainsIn) {
  Process first(long_run(), log_);
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(checkpoints_); })) << first.err();
  for (const Words& more : {Words{}, Words{"--resume"}}) {
    const Ran second = run_veldt(long_run() + more + Words{"--quiet"});
    EXPECT_EQ(second.exit_code, 2) << second.err;
    EXPECT_NE(second.err.find("is in use"), std::string::npos) << second.err;
    EXPECT_TRUE(has_three_lines(second.err));
  }
}

TEST_F(FitCommand, StoppedByASignalItPrintsACommandThatContinuesToTheSameBits) {
  constexpr int kSteps = 8000;
  ASSERT_EQ(run_veldt(small(kSteps)).exit_code, 0);
  const auto whole = tensors_of(model_);
  for (const auto& [signal_number, code] : std::vector<std::pair<int, int>>{{SIGINT, 130}, {SIGTERM, 143}}) {
    const std::string checkpoints = dir_ / ("run of " + std::to_string(code));  // to be quoted
    Process process(small(kSteps) + Words{"--checkpoint", checkpoints}, log_);
    ASSERT_TRUE(comes_true([&] { return process.err().find("step 1/") != std::string::npos; }))
        << process.err();
    process.send(signal_number);
    ASSERT_EQ(process.wait(), code) << process.err();
    EXPECT_NE(tensors_of(model_), whole);  // the field so far
    const std::string err = process.err(), before = "resume with: ";
    const std::size_t at = err.find(before);
    ASSERT_NE(at, std::string::npos) << err;
    const std::string command = err.substr(at + before.size(), err.find('\n', at) - at - before.size());
    EXPECT_NE(command.find("--resume"), std::string::npos) << command;
    EXPECT_EQ(std::system((command + " --quiet > /dev/null").c_str()), 0) << command;
    EXPECT_EQ(tensors_of(model_), whole) << command;
    for (const std::string& name : io::list_directory(checkpoints))
      EXPECT_EQ(name.find(".tmp"), std::string::npos);
  }
}

TEST_F(FitCommand, TheCommandThatContinuesNeedsNoVariables) {
  ::setenv("VELDT_SEED", "3", 1);
  Process process(long_run(), log_);
  ::unsetenv("VELDT_SEED");
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(checkpoints_); })) << process.err();
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130);
  EXPECT_NE(process.err().find(" --seed=3 --resume "), std::string::npos) << process.err();
}

TEST_F(FitCommand, StoppedByASignalItStillPrintsItsJson) {
  Process process(long_run() + Words{"--json", "--quiet"}, log_);
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(checkpoints_); })) << process.err();
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130);
  EXPECT_EQ(process.err(), "");
  EXPECT_EQ(nlohmann::json::parse(process.out()).at("stopped_by"), "signal");
}

TEST_F(FitCommand, ASecondSignalStopsAtOnce) {
  // A step of seconds: 40000 pixels through a million weights.
  Process process({"fit", VELDT_SOURCE "/assets/cub.png", "-o", model_, "--model", "siren", "--width", "1024",
                   "--depth", "3", "--batch", "full", "--steps", "1000", "--threads", "1"},
                  log_);
  ASSERT_TRUE(comes_true([&] { return process.err().find("fitting") != std::string::npos; }))
      << process.err();
  const double begun = process.cpu_seconds();
  ASSERT_TRUE(
      comes_true([&] { return process.cpu_seconds() > begun + 0.3; }));  // it is within the first step
  process.send(SIGINT);
  ASSERT_TRUE(comes_true([&] { return process.err().find("a second Ctrl-C ends it") != std::string::npos; }));
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130);
  EXPECT_FALSE(std::filesystem::exists(model_));
}

// Making the pixels exact may take long.
TEST_F(FitCommand, WhatWasLearnedIsKeptBeforeASecondSignalEndsTheClosing) {
  Process process({"fit", VELDT_SOURCE "/assets/cub.png", "-o", model_, "--steps", "100000", "--prior",
                   "none", "--style", "photo", "--preview", dir_ / "p{step}.png", "--preview-every", "1"},
                  log_);
  const auto says = [&](const char* text) { return process.err().find(text) != std::string::npos; };
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(dir_ / "p000001.png"); })) << process.err();
  process.send(SIGINT);
  ASSERT_TRUE(comes_true([&] { return says("holds the field so far;"); })) << process.err();
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130);
  EXPECT_EQ(run_veldt({"info", model_}).exit_code, 0);
}

// A second model would follow the first.
TEST_F(SlowFitCommand, WhatCannotBeReplacedGetsOneModel) {
  Process process({"fit", VELDT_SOURCE "/assets/cub.png", "-o", "/dev/stdout", "--steps", "100000", "--prior",
                   "none", "--style", "photo", "--preview", dir_ / "p{step}.png", "--preview-every", "1"},
                  log_);
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(dir_ / "p000001.png"); })) << process.err();
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130);
  EXPECT_EQ(process.err().find("holds the field so far;"), std::string::npos) << process.err();
  put_bytes(model_, process.out());
  const Ran info = run_veldt({"info", model_});
  EXPECT_EQ(info.exit_code, 0) << info.err;
}

TEST_F(FitCommand, SaysWhatKindOfPictureItTook) {
  const Ran cub = run_veldt({"fit", VELDT_SOURCE "/assets/cub.png", "-o", model_, "--dry-run"});
  EXPECT_NE(cub.err.find("200x200 as drawing in two tones (two colours)"), std::string::npos) << cub.err;
  const Ran asked =
      run_veldt({"fit", VELDT_SOURCE "/assets/cub.png", "-o", model_, "--dry-run", "--style", "pixel"});
  EXPECT_NE(asked.err.find("200x200 as pixel art (asked for)"), std::string::npos) << asked.err;
  const Ran wrong = run_veldt({"fit", VELDT_SOURCE "/assets/cub.png", "-o", model_, "--style", "painting"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("photo"), std::string::npos) << wrong.err;
}

TEST_F(FitCommand, SaysThatAPriorIsNotUsed) {
  const std::string prior = VELDT_SOURCE "/assets/prior.safetensors";
  const Words fit = {"fit", VELDT_SOURCE "/assets/cub_grey.png", "-o", model_, "--dry-run", "--prior", prior};
  EXPECT_EQ(run_veldt(fit).err.find("is not used"), std::string::npos);
  EXPECT_NE(run_veldt(fit + Words{"--model", "siren"}).err.find("is not used"), std::string::npos);
}

// A copy of the program, with what is beside it when it is installed.
TEST_F(FitCommand, GoesOnWithoutAnOwnPriorThatIsDamaged) {
  const TempDir installed;
  std::filesystem::create_directories(installed / "bin");
  std::filesystem::create_directories(installed / "share/veldt");
  std::filesystem::copy_file(veldt_binary(), installed / "bin/veldt");
  const std::string own = installed / "share/veldt/prior.safetensors",
                    good = VELDT_SOURCE "/assets/prior.safetensors";
  put_bytes(own, "damaged");
  std::filesystem::copy_file(picture_, dir_ / "q.png");
  const auto run = [&](const Words& words) {
    return run_veldt(Words{"fit"} + words + Words{"--steps", "2"}, {.binary = installed / "bin/veldt"});
  };
  const std::string warning = "veldt: warning: " + own;
  const Ran two = run({picture_, dir_ / "q.png", "-o", dir_ / "out"});
  EXPECT_EQ(two.exit_code, 0) << two.err;
  const std::size_t first = two.err.find(warning);
  EXPECT_NE(first, std::string::npos) << two.err;
  EXPECT_EQ(two.err.find(warning, first + 1), std::string::npos) << "read and told once\n" << two.err;
  const Ran given = run({picture_, "-o", model_, "--prior", good});
  EXPECT_EQ(given.exit_code, 0) << given.err;
  EXPECT_EQ(given.err.find("is not a valid"), std::string::npos) << given.err;
  const Ran damaged = run({picture_, "-o", model_, "--prior", own});
  EXPECT_EQ(damaged.exit_code, 4) << damaged.err;
}

TEST_F(FitCommand, CountsWrongPixelsOfTwoTonesAlone) {
  const Ran cub =
      run_veldt({"fit", VELDT_SOURCE "/assets/cub.png", "-o", model_, "--steps", "3", "--json", "--quiet"});
  EXPECT_TRUE(nlohmann::json::parse(cub.out).contains("wrong_pixels")) << cub.out;
  const Ran ran = run_veldt(small(3) + Words{"--json", "--quiet"});
  EXPECT_FALSE(nlohmann::json::parse(ran.out).contains("wrong_pixels")) << ran.out;
}

TEST_F(FitCommand, CountsWrongPixelsOfTwoPaleTones) {
  std::vector<int> samples;
  for (int i = 0; i < 48 * 48; ++i) samples.push_back(std::hypot(i % 48 - 24, i / 48 - 24) < 17 ? 204 : 255);
  put_bytes(picture_, make_png({.width = 48, .height = 48}, samples));
  const Ran ran = run_veldt(small(30) + Words{"--json", "--quiet"});
  const auto wrong = nlohmann::json::parse(ran.out).at("wrong_pixels");
  EXPECT_GT(wrong, 0) << "of so short a fit";
  const Ran compared = run_veldt({"compare", picture_, model_, "--json"});
  EXPECT_EQ(nlohmann::json::parse(compared.out).at("wrong_pixels"), wrong);
}

TEST_F(SlowFitCommand, TellsWhatLiesBetweenThePixelsAndWarns) {
  const Words fit = {"fit", VELDT_SOURCE "/assets/cub_grey.png", "-o", model_};
  const Ran good = run_veldt(fit);
  EXPECT_NE(good.out.find("dB over Lanczos3 (expected)"), std::string::npos) << good.out;
  EXPECT_EQ(good.err.find("warning"), std::string::npos) << good.err;
  const Ran bad = run_veldt(fit + Words{"--footprint", "1", "--steps", "30", "--json"});
  EXPECT_LT(nlohmann::json::parse(bad.out).at("expected_gain").get<double>(), 0) << bad.out;
  EXPECT_NE(bad.err.find("veldt: warning: "), std::string::npos) << bad.err;
}

TEST_F(FitCommand, SaysThatItsTimeWasTheTeachers) {
  const Words fit = {"fit", VELDT_SOURCE "/assets/cub_grey.png", "-o", model_, "--time", "1ms"};
  EXPECT_NE(run_veldt(fit).err.find("one step was taken"), std::string::npos);
}

TEST_F(FitCommand, FitsSeveralFilesAndFoldersIntoAFolder) {
  const test::TempDir dir;
  std::filesystem::create_directory(dir / "in");
  for (const char* name : {"b.png", "a.png", "notes.txt"})
    std::filesystem::copy_file(picture_, dir / ("in/" + std::string(name)));
  std::filesystem::copy_file(picture_, dir / "c.png");
  const std::string out = dir / "out/models";
  const Words fit = {"fit", dir / "in", dir / "c.png", "-o", out, "--steps", "2", "--quiet", "--json"};
  const Ran ran = run_veldt(fit);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto rows = nlohmann::json::parse(ran.out).at("fits");
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].at("output"), out + "/a.safetensors");
  for (const char* name : {"/a", "/b", "/c"})
    EXPECT_TRUE(std::filesystem::exists(out + name + ".safetensors"));
  // A failed fit does not affect the others.
  put_bytes(dir / "in/a.png", "no picture");
  std::filesystem::remove_all(out);
  const Ran again = run_veldt(fit);
  EXPECT_EQ(again.exit_code, 4) << again.err;
  EXPECT_EQ(nlohmann::json::parse(again.out).at("fits")[0].at("error").at("exit_code"), 4);
  EXPECT_TRUE(std::filesystem::exists(out + "/c.safetensors"));
}

TEST_F(FitCommand, TakesWhatItReadsOfAFolderAndSaysHowManyWereFitted) {
  const test::TempDir dir;
  std::filesystem::create_directory(dir / "in");
  for (const char* name : {"a.png", "._a.png", ".b.png"})
    std::filesystem::copy_file(picture_, dir / ("in/" + std::string(name)));
  std::filesystem::copy_file(VELDT_SOURCE "/tests/golden/sounds/mono.aiff", dir / "in/c.aiff");
  const Words fit = {"fit", dir / "in", "-o", dir / "out", "--steps", "2"};
  const Ran ran = run_veldt(fit);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(io::list_directory(dir / "out"), (Words{"a.safetensors", "c.safetensors"}));
  EXPECT_TRUE(ran.err.ends_with("veldt: note: 2 fitted, 0 failed\n")) << ran.err;
  put_bytes(dir / "in/a.png", "no picture");
  EXPECT_TRUE(run_veldt(fit).err.ends_with("veldt: note: 1 fitted, 1 failed\n"));
  for (const char* silent : {"--json", "--quiet"})
    EXPECT_EQ(run_veldt(fit + Words{silent}).err.find(" fitted, "), std::string::npos);
}

TEST_F(FitCommand, LeavesNoFolderWithNothingInIt) {
  const test::TempDir dir;
  put_bytes(dir / "a.png", "no picture");
  put_bytes(dir / "b.png", "no picture");
  const Words both = {"fit", dir / "a.png", dir / "b.png", "--steps", "2", "-o"};
  EXPECT_EQ(run_veldt(both + Words{dir / "new/models"}).exit_code, 4);
  EXPECT_FALSE(std::filesystem::exists(dir / "new"));
  std::filesystem::create_directory(dir / "old");
  EXPECT_EQ(run_veldt(both + Words{dir / "old/models/"}).exit_code, 4);
  EXPECT_EQ(count_entries(dir / "old"), 0u);
  for (const char* name : {"m.safetensors", "m.png", "m.wav"}) {
    const Ran ran = run_veldt(both + Words{dir / name});
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_NE(ran.err.find("need a folder, and this is the name of a "), std::string::npos) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err));
  }
  EXPECT_EQ(count_entries(dir.path()), 3u);
}

TEST_F(FitCommand, RefusesSeveralFilesThatItCannotKeepApart) {
  const test::TempDir dir;
  std::filesystem::create_directory(dir / "in");
  std::filesystem::create_directory(dir / "empty");
  std::filesystem::copy_file(picture_, dir / "a.png");
  std::filesystem::copy_file(picture_, dir / "in/a.png");
  const auto code = [&](const Words& words) { return run_veldt(Words{"fit"} + words).exit_code; };
  EXPECT_EQ(code({dir / "a.png", dir / "in/a.png", "-o", dir / "out"}), 2) << "both would be a.safetensors";
  EXPECT_FALSE(std::filesystem::exists(dir / "out"));
  EXPECT_EQ(code({dir / "empty", "-o", dir / "out"}), 3);
  EXPECT_EQ(code({dir / "a.png", picture_, "-o", dir / "a.png"}), 2) << "no folder";
  EXPECT_EQ(code({dir / "a.png", picture_, "-o", dir / "out", "--dry-run"}), 2);
  // A folder takes one file as well.
  EXPECT_EQ(code({dir / "a.png", "-o", dir / "in", "--steps", "2"}), 0);
  EXPECT_TRUE(std::filesystem::exists(dir / "in/a.safetensors"));
}

TEST_F(FitCommand, StopsAtItsTarget) {
  const Ran ran = run_veldt(small(100'000) + Words{"--target-psnr", "15", "--json", "--quiet"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json.at("stopped_by"), "target-psnr");
  EXPECT_GE(json.at("psnr").get<double>(), 15);
}

TEST_F(FitCommand, TheFirstSignalEndsTheLastDrawing) {
  // Draws a million points through 800,000 weights: 1.6 TFLOP, which takes one thread twenty seconds or more.
  put_bytes(picture_, make_png({.width = 1000, .height = 1000}, std::vector<int>(1'000'000, 128)));
  Process process({"fit", picture_, "-o", model_, "--width", "512", "--depth", "4", "--batch", "16",
                   "--steps", "1", "--threads", "1"},
                  log_);
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(model_); })) << process.err();
  const auto start = std::chrono::steady_clock::now();
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 8);
  EXPECT_EQ(process.out(), "");
}

TEST_F(FitCommand, ADryRunPredictsAndWritesNothing) {
  const Ran ran = run_veldt(small(400) + Words{"--checkpoint", checkpoints_, "--preview", dir_ / "now.png",
                                               "--dry-run", "--json", "--quiet"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(count_entries(dir_.path()), 1u);
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json.at("parameters"), 337);
  EXPECT_EQ(json.at("steps"), 400);
  // 128 points of the batch through 2 x 16, 16 x 16 and 16 x 1 weights, forth and twice back, and some more.
  const double products = 128.0 * 2 * 304 * 3;
  EXPECT_GT(json.at("flops_a_step").get<double>(), 0.8 * products);
  EXPECT_LT(json.at("flops_a_step").get<double>(), 3 * products);
  EXPECT_GT(json.at("memory_bytes").get<double>(), 4 * 337);
  EXPECT_GT(json.at("seconds").get<double>(), 0);
  for (const char* key :
       {"parameters", "model_bytes", "steps", "flops_a_step", "flops", "memory_bytes", "checkpoint_bytes"})
    EXPECT_TRUE(json.at(key).is_number_integer()) << key << " " << json.at(key);
  ASSERT_EQ(run_veldt(small(400) + Words{"--quiet"}).exit_code, 0);
  const double bytes = static_cast<double>(std::filesystem::file_size(model_));
  EXPECT_NEAR(json.at("model_bytes").get<double>(), bytes, 0.5 * bytes);
}

TEST_F(FitCommand, ADryRunNeedsNoNameForAModel) {
  Words words = small(50);
  words.erase(words.begin() + 2, words.begin() + 4);  // -o MODEL
  const Ran ran = run_veldt(words + Words{"--explain", "--dry-run"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("model         about "), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("would write"), std::string::npos) << ran.out;
  const Ran in_json = run_veldt(words + Words{"--dry-run", "--json", "--quiet"});
  EXPECT_FALSE(nlohmann::json::parse(in_json.out).contains("output")) << in_json.out;
  for (const Words& more : {Words{}, Words{"--explain"}, Words{"--dry-run=false"}}) {
    const Ran refused = run_veldt(words + more);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("needs --output PATH"), std::string::npos) << refused.err;
  }
}

TEST_F(FitCommand, ADryRunSaysItInWordsAndStillRefusesBadOutputs) {
  Words words = small(50) + Words{"--dry-run"};
  const Ran ran = run_veldt(words);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* word : {"337 parameters", "50 steps of 128 points", "FLOP", "memory", "would write"})
    EXPECT_NE(ran.out.find(word), std::string::npos) << ran.out;
  EXPECT_EQ(run_veldt(small(50) + Words{"--dry-run", "-o", dir_ / "no/such/m"}).exit_code, 6);
}

TEST_F(FitCommand, ExplainsItsChoicesAndFits) {
  const Ran ran = run_veldt(small() + Words{"--explain"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* line : {"kind          photograph", "model         siren", "cycles a pixel across",
                           "width         16          asked for", "337 parameters, 30 steps"})
    EXPECT_NE(ran.out.find(line), std::string::npos) << line << "\n" << ran.out;
  EXPECT_EQ(count_entries(dir_.path()), 2u) << "a model beside the picture";
}

// The map of errors that sampling by them keeps is part of a checkpoint.
TEST_F(SlowFitCommand, PredictsCheckpointsWithAllThatTheyHold) {
  const auto bytes = [&](const std::string& sampling) {
    const Ran ran = run_veldt(small() + Words{"--checkpoint", checkpoints_, "--sampling", sampling,
                                              "--dry-run", "--json", "--quiet"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return nlohmann::json::parse(ran.out).at("checkpoint_bytes").get<double>();
  };
  EXPECT_GE(bytes("error"), bytes("uniform") + 4);
}

TEST_F(FitCommand, ExplainsInJson) {
  for (const Words& more : {Words{}, Words{"--dry-run"}}) {
    const Ran ran = run_veldt(small() + Words{"--explain", "--json", "--quiet"} + more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const auto rows = nlohmann::json::parse(ran.out).at("explain");
    ASSERT_GT(rows.size(), 8u);
    for (const auto& row : rows)
      for (const char* key : {"choice", "value", "why"}) EXPECT_NE(row.at(key).get<std::string>(), "");
    EXPECT_EQ(rows.at(0).at("choice"), "kind");
    EXPECT_EQ(rows.at(2).at("why"), "asked for");
  }
  EXPECT_FALSE(
      nlohmann::json::parse(run_veldt(small() + Words{"--json", "--quiet"}).out).contains("explain"));
}

TEST_F(FitCommand, ExplainsADryRunAndWritesNothing) {
  const Ran ran = run_veldt(small() + Words{"--explain", "--dry-run"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_LT(ran.out.find("model         siren"), ran.out.find("would write")) << ran.out;
  EXPECT_EQ(count_entries(dir_.path()), 1u);
}

TEST_F(FitCommand, TrainsOnWhenADiskIsFullAndSaysSo) {
  const SmallDisk disk(dir_ / "disk", "64k");
  if (!disk.active()) GTEST_SKIP() << "mounting a small disk needs root";
  put_bytes(dir_ / "disk/filler", std::string(1 << 20, 'x'));
  const Ran ran = run_veldt(small() + Words{"--checkpoint", dir_ / "disk", "--preview", dir_ / "disk/p.png"});
  EXPECT_EQ(ran.exit_code, 6) << ran.err;  // the first preview, before any work
  const Ran kept = run_veldt(small() + Words{"--checkpoint", dir_ / "disk", "--every", "1ms", "--quiet"});
  EXPECT_EQ(kept.exit_code, 6) << kept.err;  // the last checkpoint is missing: a script has to know
  EXPECT_NE(kept.err.find("veldt: warning:"), std::string::npos) << kept.err;
  EXPECT_NE(kept.err.find("training continues"), std::string::npos) << kept.err;
  EXPECT_TRUE(std::filesystem::exists(model_));
}

TEST_F(FitCommand, KeepsTheOlderModelWhenTheNewOneCannotBeWritten) {
  const SmallDisk disk(dir_ / "disk", "64k");
  if (!disk.active()) GTEST_SKIP() << "mounting a small disk needs root";
  put_bytes(dir_ / "disk/m.safetensors", "older");
  put_bytes(dir_ / "disk/filler", std::string(1 << 20, 'x'));
  const Ran ran = run_veldt(small_fit(picture_, dir_ / "disk/m.safetensors", 5) + Words{"--quiet"});
  EXPECT_EQ(ran.exit_code, 6) << ran.err;
  EXPECT_TRUE(has_three_lines(ran.err));
  EXPECT_EQ(bytes_of(dir_ / "disk/m.safetensors"), "older");
  EXPECT_EQ(count_entries(dir_ / "disk"), 2u);
}

TEST_F(FitCommand, DoesNotOverwriteItsInput) {
  const std::string before = bytes_of(picture_);
  const Ran ran = run_veldt({"fit", picture_, "-o", picture_, "--steps", "2"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
  EXPECT_EQ(run_veldt({"fit", picture_, "-o", model_, "--preview", picture_, "--steps", "2"}).exit_code, 2);
  EXPECT_EQ(bytes_of(picture_), before);
}

}  // namespace
}  // namespace veldt::test
