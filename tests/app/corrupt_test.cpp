// veldt eval --corrupt, and data.corrupt: a network is measured on pictures that are worse than those it
// learned from, the same for the same seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/app/command.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/rng.h"
#include "veldt/io/image.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

// Grey pictures whose left or right half is brighter, and a network that tells them apart.
class CorruptVerb : public testing::Test {
 protected:
  CorruptVerb() {
    Rng rng(3);
    for (int i = 0; i < 40; ++i) {
      const bool left = i % 2 == 0;
      const Tensor picture = rand({12, 12, 1}, rng, 0, 0.5);
      Tensor half = slice(picture, 1, left ? 0 : 6, left ? 6 : 12);
      half.assign(half + 0.4);
      const std::string folder =
          std::string("p/") + (i < 28 ? "train" : "test") + (left ? "/left" : "/right");
      fs::create_directories(dir_ / folder);
      io::write_image(dir_ / (folder + "/" + std::to_string(i) + ".png"), picture);
    }
    put_bytes(dir_ / "r.toml",
              "[data]\nkind = \"pictures\"\npath = \"p\"\ngrey = true\nbatch = 7\n[model]\n"
              "layers = [\"Flatten\", \"Linear(outputs)\"]\n[optimizer]\nlr = 0.02\n[train]\nepochs = 30\n");
    const Ran ran = run_veldt({"train", dir_ / "r.toml", "--data", dir_ / "", "--out", dir_ / "run"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
  }
  Ran eval(const Words& corruptions, const Words& more = {}) const {
    Words words{"eval", dir_ / "run", "--data", dir_ / ""};
    for (const std::string& one : corruptions) words.insert(words.end(), {"--corrupt", one});
    words.insert(words.end(), more.begin(), more.end());
    return run_veldt(words);
  }
  json json_of(const Words& corruptions, const Words& more = {}) const {
    Words words = more;
    words.emplace_back("--json");
    const Ran ran = eval(corruptions, words);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out);
  }

  const TempDir dir_;
};

TEST_F(CorruptVerb, MeasuresWhatEachCorruptionCosts) {
  const Words all{"brightness(1)", "brightness(0)",       "shift(6)", "rotate(90)",      "erase(5)",
                  "contrast(0.5)", "gaussian_noise(0.1)", "jpeg(50)", "gaussian_blur(1)"};
  const json plain = json_of({}), found = json_of(all);
  EXPECT_FALSE(plain.contains("corrupted"));
  EXPECT_EQ(found.at("accuracy"), 1);
  EXPECT_EQ(found.at("loss"), plain.at("loss"));
  EXPECT_EQ(found.at("score"), "accuracy");
  const json& rows = found.at("corrupted");
  ASSERT_EQ(rows.size(), all.size());
  EXPECT_EQ(rows[0].at("corruption"), "brightness(1)");
  EXPECT_EQ(rows[0].at("loss"), plain.at("loss"));
  EXPECT_EQ(rows[0].at("lost"), 0);
  // Of black pictures all are of one class.
  EXPECT_EQ(rows[1].at("accuracy"), 0.5);
  EXPECT_EQ(rows[1].at("lost"), 0.5);
  for (std::size_t i = 2; i < all.size(); ++i) {
    EXPECT_NE(rows[i].at("loss"), plain.at("loss")) << all[i];
    if (i >= 6) continue;  // noise may help so few pictures
    EXPECT_GT(rows[i].at("loss"), plain.at("loss")) << all[i];
  }
  const Ran text = eval({"brightness(1)", "brightness(0)"});
  EXPECT_THAT(text.out, HasSubstr("corruption     accuracy  lost\n"
                                  "none           1.0000\n"
                                  "brightness(1)  1.0000    0.0000\n"
                                  "brightness(0)  0.5000    0.5000\n"
                                  "mean           0.7500    0.2500\n"));
  EXPECT_EQ(eval({"brightness(0)"}).out.find("mean"), std::string::npos);
}

TEST_F(CorruptVerb, DrawsTheSameForTheSameSeed) {
  const Words noise{"gaussian_noise(0.3)"};
  const json one = json_of(noise), again = json_of(noise, {"--threads", "2"}),
             other = json_of(noise, {"--seed", "2"}), beside = json_of({"shift(1)", noise[0]});
  EXPECT_EQ(one.at("corrupted")[0], again.at("corrupted")[0]);
  EXPECT_NE(one.at("corrupted")[0].at("loss"), other.at("corrupted")[0].at("loss"));
  EXPECT_EQ(one.at("corrupted")[0], beside.at("corrupted")[1]);
}

TEST_F(CorruptVerb, RefusesWhatIsNoCorruption) {
  const auto expect_refused = [&](const std::string& corruption, const std::string& words) {
    const Ran ran = eval({corruption});
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(words));
    EXPECT_THAT(ran.err, HasSubstr("--corrupt"));
  };
  expect_refused("shfit(4)", "did you mean shift?");
  expect_refused("noise(0.1)", "did you mean gaussian_noise?");
  expect_refused("shift", "'pixels' is missing");
  expect_refused("shift(-4)", "'-4'");
  expect_refused("shift(4", "shift(4");
  expect_refused("rotate(nan)", "nan");
  expect_refused("jpeg(101)", "101");
  expect_refused("random_crop(8, 8)", "it turns pictures of [1, 12, 12] into [1, 8, 8]");
  expect_refused("", "''");
  put_bytes(dir_ / "t.csv", "x,y\n1,2\n2,3\n3,4\n4,5\n5,6\n6,7\n");
  put_bytes(dir_ / "t.toml",
            "[data]\nkind = \"table\"\npath = \"t.csv\"\ntarget = \"y\"\ntest = 0.3\n[model]\n"
            "layers = [\"Linear(outputs)\"]\n[train]\nepochs = 1\n");
  ASSERT_EQ(run_veldt({"train", dir_ / "t.toml", "--data", dir_ / "", "--out", dir_ / "t"}).exit_code, 0);
  const Ran table = run_veldt({"eval", dir_ / "t", "--data", dir_ / "", "--corrupt", "shift(4)"});
  EXPECT_EQ(table.exit_code, 2);
  EXPECT_THAT(table.err, HasSubstr("the data are of the kind 'table'"));
}

// The recipe of above, with other values.
class CorruptKey : public CorruptVerb {
 protected:
  Ran train(const std::string& out, const Words& sets, const Words& more = {}) const {
    Words words{"train", dir_ / "r.toml", "--data", dir_ / "", "--out", dir_ / out};
    for (const std::string& one : sets) words.insert(words.end(), {"--set", one});
    words.insert(words.end(), more.begin(), more.end());
    return run_veldt(words);
  }
};

constexpr const char* kTwoCorruptions = R"x(data.corrupt=["shift(6)", "random_affine(90, 0.2)"])x";

TEST_F(CorruptKey, ATrainingEndsWithTheScoresOfEval) {
  const Ran ran = train("c", {kTwoCorruptions}, {"--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json found = json::parse(ran.out),
             rows = json_of({"shift(6)", "random_affine(90, 0.2)"}).at("corrupted");
  EXPECT_EQ(found.at("test_accuracy"), 1);
  for (const json& row : rows) {
    const std::string name = row.at("corruption");
    EXPECT_EQ(found.at("test_accuracy " + name), row.at("accuracy")) << name;
    EXPECT_EQ(found.at("test_loss " + name), row.at("loss")) << name;
    EXPECT_GT(found.at("test_loss " + name), found.at("test_loss")) << name;
  }
  const json info = json::parse(run_veldt({"info", dir_ / "c/model.safetensors", "--json"}).out);
  EXPECT_EQ(info.at("scores").at("test_accuracy shift(6)"), rows[0].at("accuracy"));
  EXPECT_THAT(run_veldt({"info", dir_ / "c"}).out, HasSubstr("  test accuracy random_affine(90, 0.2)  "));
  // The network is the same, and what is measured of it may change.
  EXPECT_EQ(found.at("test_loss"), json_of({}).at("loss"));
  const Ran again = train("c", {"data.corrupt=brightness(0)"}, {"--resume"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("\ntest_accuracy brightness(0) 0.5\n"));
}

TEST_F(CorruptKey, ErrorsComeBeforeTheTraining) {
  const auto expect_refused = [&](const Words& sets, const std::string& words) {
    const Ran ran = train("refused", sets);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(words));
    EXPECT_THAT(ran.err, HasSubstr("data.corrupt"));
    EXPECT_FALSE(fs::exists(dir_ / "refused"));
  };
  expect_refused({"data.corrupt=shfit(4)"}, "did you mean shift?");
  expect_refused({R"x(data.corrupt=["shift(4)", "rotate(x)"])x"}, "number 2");
  expect_refused({R"x(data.corrupt=["shift(4)", "shift(4)"])x"}, "'shift(4)' twice");
  expect_refused({"data.corrupt=random_crop(8, 8)"}, "it turns pictures of [1, 12, 12] into [1, 8, 8]");
  expect_refused({"data.corrupt=shift(4)", "data.path=p/train"}, "there is no test set");
  expect_refused({"data.corrupt=shift(4)", "data.kind=denoise"}, "denoise");
}

TEST_F(CorruptKey, EachIsAColumnOfASweep) {
  const auto sweep = [&](const std::string& out, const std::string& set) {
    return run_veldt({"sweep", dir_ / "r.toml", "--data", dir_ / "", "--out", dir_ / out, "--set", set,
                      "--set", "train.epochs=3", "--over", "optimizer.lr=0.01,0.02"});
  };
  const Ran ran = sweep("s", kTwoCorruptions);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("lr    test_accuracy  shift(6)  random_affine(90, 0.2)  seconds"));
  const std::string csv = bytes_of(dir_ / "s/sweep.csv");
  EXPECT_THAT(csv, HasSubstr(",test_accuracy,test_accuracy_deviation,test_loss shift(6),"));
  EXPECT_THAT(csv, HasSubstr(",test_accuracy shift(6),test_accuracy shift(6)_deviation,"));
  EXPECT_THAT(csv, HasSubstr(",\"test_accuracy random_affine(90, 0.2)\","));
  EXPECT_THAT(bytes_of(dir_ / "s/runs.csv"), HasSubstr(",test_accuracy shift(6),"));
  const Ran refused = sweep("refused", "data.corrupt=shfit(4)");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("did you mean shift?"));
  EXPECT_FALSE(fs::exists(dir_ / "refused"));
}

}  // namespace
}  // namespace veldt::test
