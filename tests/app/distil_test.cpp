// A recipe with a teacher: a smaller network learns from a model file, resumes, and refuses one that does not
// fit.
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
using testing::Not;
using Words = std::vector<std::string>;

std::string rows_recipe(const std::string& layers, const std::string& train) {
  return "[data]\nkind = \"mnist\"\npath = \"rows\"\nbatch = 20\n[model]\nlayers = [" + layers +
         "]\n[optimizer]\nlr = 1e-2\n[train]\n" + train;
}
const char* const kLarge = "\"Flatten\", \"Linear(32)\", \"ReLU\", \"Linear(outputs)\"";
const char* const kSmall = "\"Flatten\", \"Linear(8)\", \"ReLU\", \"Linear(outputs)\"";

class DistilledTrain : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new TempDir;
    put_rows(*dir_ / "rows", "train", 300);
    put_rows(*dir_ / "rows", "t10k", 100);
    put_bytes(*dir_ / "t.toml", rows_recipe(kLarge, "epochs = 3\n"));
    const Ran ran =
        run_veldt({"train", *dir_ / "t.toml", "--data", *dir_ / "", "--out", *dir_ / "teacher", "--quiet"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
  }
  static void TearDownTestSuite() { delete dir_; }
  static std::string at(const std::string& name) { return *dir_ / name; }
  static Ran train(const std::string& layers, const std::string& keys, const std::string& out,
                   const Words& more = {}) {
    put_bytes(at("s.toml"), rows_recipe(layers, "epochs = 12\nteacher = \"" + at("teacher") + "\"\n" + keys));
    return run_veldt(Words{"train", at("s.toml"), "--data", at(""), "--out", at(out), "--quiet", "--json"} +
                     more);
  }

  static TempDir* dir_;
};
TempDir* DistilledTrain::dir_ = nullptr;

TEST_F(DistilledTrain, AStudentLearnsByTargetsAndHintsAndItsFileStandsAlone) {
  const Ran ran = train(kSmall, "temperature = 2\nteacher_weight = 0.8\nhints = [\"2 = 2\"]\n", "student");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_GT(json::parse(ran.out).at("test_accuracy").get<double>(), 0.9);
  EXPECT_EQ(tensors_of(at("student/model.safetensors")).size(), 4U);
  // A run in two parts has the same bits.
  ASSERT_EQ(train(kSmall, "temperature = 2\nteacher_weight = 0.8\nhints = [\"2 = 2\"]\n", "parts",
                  {"--until", "0.5"})
                .exit_code,
            0);
  ASSERT_EQ(
      train(kSmall, "temperature = 2\nteacher_weight = 0.8\nhints = [\"2 = 2\"]\n", "parts", {"--resume"})
          .exit_code,
      0);
  EXPECT_EQ(tensors_of(at("student/model.safetensors")), tensors_of(at("parts/model.safetensors")));
}

TEST_F(DistilledTrain, ANetworkMayBeBornAgain) {
  const Ran ran = train(kLarge, "hints = [\"1 = 1\"]\nhint_loss = \"features\"\n", "born");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_GT(json::parse(ran.out).at("test_accuracy").get<double>(), 0.95);
}

TEST_F(DistilledTrain, ATeacherThatHasChangedIsNoticed) {
  const Words of_copy{"--set", "train.teacher=" + at("copy.safetensors")};
  std::filesystem::copy_file(at("teacher/model.safetensors"), at("copy.safetensors"));
  ASSERT_EQ(train(kSmall, "", "changed", of_copy + Words{"--until", "0.5"}).exit_code, 0);
  ASSERT_EQ(run_veldt({"prune", at("teacher"), "-o", at("copy.safetensors"), "--weights", "0.5"}).exit_code,
            0);
  const Ran ran = train(kSmall, "", "changed", of_copy + Words{"--resume"});
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("XXH3 of the file of train.teacher was"));
  std::filesystem::copy_file(at("teacher/model.safetensors"), at("copy.safetensors"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(train(kSmall, "", "changed", of_copy + Words{"--resume"}).exit_code, 0);
}

TEST_F(DistilledTrain, FeaturesOfOtherWidthsAreMappedAndTheStudentsFileStandsAlone) {
  const std::string keys = "teacher_weight = 0.5\nhints = [\"1 = 1\"]\nhint_loss = \"features\"\n";
  const Ran ran = train(kSmall, keys, "fitnet");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_GT(json::parse(ran.out).at("test_accuracy").get<double>(), 0.9);
  EXPECT_EQ(tensors_of(at("fitnet/model.safetensors")).size(), 4U);
  ASSERT_EQ(train(kSmall, keys, "fitnet2", {"--until", "0.5"}).exit_code, 0);
  ASSERT_EQ(train(kSmall, keys, "fitnet2", {"--resume"}).exit_code, 0);
  EXPECT_EQ(tensors_of(at("fitnet/model.safetensors")), tensors_of(at("fitnet2/model.safetensors")));
}

TEST_F(DistilledTrain, NumbersAreLearnedFromATeacherToo) {
  std::string csv = "length,weight\n";
  for (int i = 0; i < 60; ++i) csv += std::to_string(i) + "," + std::to_string(3 * i + 7) + "\n";
  put_bytes(at("t.csv"), csv);
  const std::string numbers =
      "[data]\nkind = \"table\"\npath = \"t.csv\"\ntarget = \"weight\"\ntest = 0.2\nbatch = "
      "8\n[model]\nlayers = [\"Linear(outputs)\"]\n"
      "[optimizer]\nlr = 0.05\n[train]\nepochs = 20\n";
  put_bytes(at("n.toml"), numbers);
  ASSERT_EQ(run_veldt({"train", at("n.toml"), "--data", at(""), "--out", at("numbers"), "--quiet"}).exit_code,
            0);
  const Ran ran =
      run_veldt({"train", at("n.toml"), "--data", at(""), "--out", at("numbers2"), "--quiet", "--json",
                 "--set", "train.teacher=" + at("numbers"), "--set", "train.teacher_weight=1"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_LT(json::parse(ran.out).at("test_mae").get<double>(), 5);
}

TEST_F(DistilledTrain, ATeacherThatDoesNotFitIsRefused) {
  const auto refused = [](const Ran& ran, int code = 2) {
    EXPECT_EQ(ran.exit_code, code);
    return ran.err;
  };
  EXPECT_THAT(refused(train(kSmall, "", "no", {"--set", "data.prepare=[\"normalise(0.2, 0.3)\"]"})),
              HasSubstr("data.prepare"));
  EXPECT_THAT(refused(train(kSmall, "hints = [\"9 = 2\"]\n", "no")), HasSubstr("no layer 9"));
  EXPECT_THAT(refused(train(kSmall, "", "no", {"--set", "train.teacher=" + at("nobody")}), 3),
              HasSubstr("train.teacher: cannot read"));
  EXPECT_THAT(refused(train(kSmall, "hint_weight = 2\n", "no")), HasSubstr("has no hints"));
  EXPECT_THAT(refused(train(kSmall, "hints = [\"1 = 1\"]\nhint_loss = \"attention\"\n", "unlike")),
              HasSubstr("same places"));
  EXPECT_FALSE(std::filesystem::exists(at("unlike")));
  put_bytes(at("bad.safetensors"), "no model");
  EXPECT_THAT(refused(train(kSmall, "", "no", {"--set", "train.teacher=" + at("bad.safetensors")}), 4),
              HasSubstr("bad.safetensors"));
}

}  // namespace
}  // namespace veldt::test
