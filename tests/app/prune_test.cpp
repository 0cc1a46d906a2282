// veldt prune, and what its files are good for: every verb opens them, and they learn on. Recipes that prune.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/app/rows_data.h"
#include "tests/app/small_model.h"
#include "tests/support/temp_dir.h"

namespace veldt::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const char* const kRowsToPrune = R"toml(
[data]
kind = "mnist"
path = "rows"
batch = 20
prepare = ["normalise(0.2, 0.3)"]
[model]
layers = ["Conv2d(8, 3, padding=1)", "BatchNorm2d", "ReLU", "MaxPool2d(2)", "Flatten", "Linear(24)", "ReLU",
          "Linear(outputs)"]
[optimizer]
lr = 1e-2
[train]
epochs = 2
)toml";

class PruneVerb : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new TempDir;
    put_rows(*dir_ / "rows", "train", 400);
    put_rows(*dir_ / "rows", "t10k", 200);
    put_bytes(*dir_ / "r.toml", kRowsToPrune);
    const Ran ran =
        run_veldt({"train", *dir_ / "r.toml", "--data", *dir_ / "", "--out", *dir_ / "run", "--quiet"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
  }
  static void TearDownTestSuite() { delete dir_; }

  static std::string at(const std::string& name) { return *dir_ / name; }
  static json pruned(const std::string& from, const std::string& to, const Words& more) {
    const Ran ran = run_veldt(Words{"prune", at(from), "-o", at(to), "--json"} + more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }
  static json scores(const std::string& model) {
    const Ran ran = run_veldt({"eval", at(model), "--data", at(""), "--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }
  static std::string refused(const Words& arguments) {
    const Ran ran = run_veldt(arguments);
    EXPECT_EQ(ran.exit_code, 2) << ran.out;
    return ran.err;
  }

  static TempDir* dir_;
};
TempDir* PruneVerb::dir_ = nullptr;

TEST_F(PruneVerb, HalfOfTheChannelsGoAndTheRestLearnsAgain) {
  const json out = pruned("run", "half.safetensors", {"--channels", "0.5"});
  EXPECT_LT(out.at("parameters").get<int>(), out.at("parameters_before").get<int>() / 2);
  EXPECT_EQ(out.at("layers").at(0).at("layer"), "0");
  EXPECT_EQ(out.at("layers").at(0).at("kept"), 4);
  const Ran taught = run_veldt({"train", at("half.safetensors"), "--data", at(""), "--out", at("again"),
                                "--set", "train.epochs=3", "--json", "--quiet"});
  ASSERT_EQ(taught.exit_code, 0) << taught.err;
  EXPECT_GT(json::parse(taught.out).at("test_accuracy").get<double>(), 0.95);
  EXPECT_EQ(scores("again").at("accuracy"), json::parse(taught.out).at("test_accuracy"));
  const Ran exported = run_veldt({"export", at("again/model.safetensors"), "-o", at("half.onnx")});
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_THAT(run_veldt({"info", at("half.safetensors")}).out, HasSubstr("[\"Conv2d(4, 3, padding=1)\",\""));
}

TEST_F(PruneVerb, WeightsThatAreGoneStayGoneInFurtherTraining) {
  const json out = pruned("run", "sparse.safetensors", {"--weights", "0.8"});
  const auto zeros = [](const std::string& model) {
    std::size_t count = 0;
    for (const auto& [name, values] : tensors_of(model))
      if (name.ends_with("weight") && name != "1.weight")
        count += static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0));
    return count;
  };
  EXPECT_EQ(zeros(at("sparse.safetensors")), out.at("zeros").get<std::size_t>());
  const Ran taught =
      run_veldt({"train", at("sparse.safetensors"), "--data", at(""), "--out", at("sparse"), "--quiet"});
  ASSERT_EQ(taught.exit_code, 0) << taught.err;
  EXPECT_EQ(zeros(at("sparse/model.safetensors")), out.at("zeros").get<std::size_t>());
  EXPECT_GT(scores("sparse").at("accuracy").get<double>(), 0.95);
  const Ran free = run_veldt({"train", at("sparse.safetensors"), "--data", at(""), "--out", at("free"),
                              "--quiet", "--set", "prune.keep_zeros=false", "--set", "train.epochs=1"});
  ASSERT_EQ(free.exit_code, 0) << free.err;
  EXPECT_LT(zeros(at("free/model.safetensors")), out.at("zeros").get<std::size_t>() / 2);
  const json pattern = pruned("run", "pattern.safetensors", {"--pattern", "2:4"});
  EXPECT_EQ(pattern.at("layers").at(0).at("fixed"), "its inputs are no multiple of 4");
  EXPECT_EQ(pattern.at("layers").at(1).at("kept").get<int>() * 2,
            pattern.at("layers").at(1).at("size").get<int>());
}

TEST_F(PruneVerb, ATicketIsTheMaskOverTheFirstWeights) {
  const json out = pruned("run", "ticket.safetensors", {"--weights", "0.5", "--rewind", "initial"});
  EXPECT_GT(out.at("zeros").get<int>(), 1000);
  const auto ticket = tensors_of(at("ticket.safetensors")), whole = tensors_of(at("run/model.safetensors"));
  EXPECT_NE(ticket.at("5.weight"), whole.at("5.weight"));
  const json same = pruned("run", "same.safetensors", {"--weights", "0.5", "--rewind", at("run")});
  EXPECT_EQ(same.at("zeros"), out.at("zeros"));
}

TEST_F(PruneVerb, ARecipePrunesWhileItLearns) {
  put_bytes(at("p.toml"),
            std::string(kRowsToPrune) + "[prune]\nshare = 0.9\nbegin = 0.1\nend = 0.5\nexcept = [\"7\"]\n");
  const Words run{"train", at("p.toml"), "--data", at(""), "--quiet", "--set", "train.epochs=4"};
  ASSERT_EQ(run_veldt(run + Words{"--out", at("gradual")}).exit_code, 0);
  double zeros = 0, all = 0;
  for (const auto& [name, values] : tensors_of(at("gradual/model.safetensors")))
    if (name == "0.weight" || name == "5.weight") {
      zeros += static_cast<double>(std::count(values.begin(), values.end(), 0.0));
      all += static_cast<double>(values.size());
    }
  EXPECT_NEAR(zeros / all, 0.9, 1e-3);
  EXPECT_GT(scores("gradual").at("accuracy").get<double>(), 0.9);
  // A run that was stopped on the way has the same bits.
  ASSERT_EQ(run_veldt(run + Words{"--out", at("parts"), "--until", "0.4"}).exit_code, 0);
  ASSERT_EQ(run_veldt(run + Words{"--out", at("parts"), "--resume"}).exit_code, 0);
  EXPECT_EQ(tensors_of(at("gradual/model.safetensors")), tensors_of(at("parts/model.safetensors")));
}

TEST_F(PruneVerb, WhatCannotBeIsRefused) {
  const Words prune{"prune", at("run"), "-o", at("no.safetensors")};
  EXPECT_THAT(refused(prune), HasSubstr("nothing says what is to go"));
  EXPECT_THAT(refused(prune + Words{"--weights", "0.5", "--pattern", "2:4"}), HasSubstr("contradict"));
  EXPECT_THAT(refused(prune + Words{"--pattern", "4:4"}), HasSubstr("4:4"));
  EXPECT_THAT(refused(prune + Words{"--pattern", "half"}), HasSubstr("half"));
  EXPECT_THAT(refused(prune + Words{"--channels", "0.5", "--except", "nobody"}), HasSubstr("nobody"));
  EXPECT_THAT(refused({"prune", at("run"), "-o", at("run/model.safetensors"), "--weights", "0.5"}),
              HasSubstr("the input"));
  EXPECT_FALSE(std::filesystem::exists(at("no.safetensors")));
  const auto recipe = [&](const std::string& keys) {
    put_bytes(at("bad.toml"), kRowsToPrune + keys);
    return refused({"train", at("bad.toml"), "--data", at(""), "--out", at("bad")});
  };
  EXPECT_THAT(recipe("[prune]\nscope = \"layer\"\n"), HasSubstr("prune.scope changes nothing"));
  EXPECT_THAT(recipe("[prune]\nshare = 0.5\npattern = \"2:4\"\n"), HasSubstr("contradict"));
  EXPECT_THAT(recipe("[prune]\npattern = \"5:4\"\n"), HasSubstr("5:4"));
  EXPECT_THAT(recipe("[prune]\nshare = 0.5\nbegin = 0.5\nend = 0.2\n"), HasSubstr("prune.end cannot be 0.2"));
  EXPECT_THAT(recipe("[prune]\nshare = 0.5\nexcept = [\"9\"]\n"), HasSubstr("begins with 9"));
  EXPECT_THAT(recipe("[prune]\nkeep_zeros = true\nmethod = \"movement\"\n"), HasSubstr("movement"));
  put_bytes(at("ema.toml"), kRowsToPrune + std::string("[prune]\nshare = 0.5\n"));
  EXPECT_THAT(
      refused({"train", at("ema.toml"), "--data", at(""), "--out", at("bad"), "--set", "optimizer.ema=0.9"}),
      HasSubstr("ema"));
  EXPECT_THAT(refused({"train", at("run"), "--data", at(""), "--out", at("bad"), "--set",
                       "model.layers=[\"Flatten\", \"Linear(outputs)\"]"}),
              HasSubstr("taught further"));
}

}  // namespace
}  // namespace veldt::test
