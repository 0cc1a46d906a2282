// veldt train with a known network that is taught further, and the use of what it saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/app/command.h"
#include "tests/app/process.h"
#include "tests/app/small_model.h"
#include "tests/io/make_png.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/image.h"
#include "veldt/io/safetensors.h"
#include "veldt/models/model_file.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/recipe/trained.h"
#include "veldt/tensor/graph.h"

namespace veldt::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

class TrainKnown : public testing::Test {
 protected:
  TrainKnown() {
    for (const char* kind : {"dark", "light"})
      for (int i = 0; i < 12; ++i) {
        const std::string folder = dir_ / "p" + std::string("/") + kind;
        std::filesystem::create_directories(folder);
        put_bytes(
            folder + "/" + std::to_string(i) + ".png",
            make_png({.width = 8, .height = 8}, std::vector<int>(64, kind[0] == 'd' ? 20 + i : 220 + i)));
      }
    save_weights();
    put_bytes(dir_ / "r.toml",
              "[data]\nkind = \"pictures\"\npath = \"p\"\nheight = 32\nwidth = 32\n"
              "validation = 0.25\nbatch = 6\n"
              "[model]\narchitecture = \"mobilenet_v2(width=0.25)\"\nfrom = \"" +
                  std::string(dir_ / "w.safetensors") +
                  "\"\nfreeze = \"body\"\n[optimizer]\nlr = 1e-2\n[train]\nepochs = 10\n");
  }
  Ran train(const Texts& more = {}) const {
    return run_veldt(Texts{"train", dir_ / "r.toml", "--data", dir_ / "", "--out", dir_ / "run", "--json"} +
                     more);
  }

  const TempDir dir_;

 private:
  // Not trained, but with statistics of what passes: otherwise little would be left of a picture at the end.
  void save_weights() const {
    const NoGrad off;
    Rng rng(3);
    const models::Model model = models::make_model("mobilenet_v2", {{"width", 0.25}, {"classes", 5}}, rng);
    for (int i = 0; i < 150; ++i)
      (*model.network)(0.1 * randn({8, 3, 32, 32}, rng) + 2 * randn({8, 1, 1, 1}, rng));
    models::save(dir_ / "w.safetensors", model);
  }
};

TEST_F(TrainKnown, AHeadAloneIsTaughtAndThenUsed) {
  const Ran ran = train();
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(json::parse(ran.out).at("val_accuracy"), 1);
  // The body's numbers, its running statistics among them, are those of the file to the last bit.
  const io::SafeTensors before = io::read_safetensors(dir_ / "w.safetensors"),
                        after = io::read_safetensors(dir_ / "run/model.safetensors");
  int compared = 0;
  for (const auto& [name, tensor] : before.tensors) {
    if (name.starts_with("classifier.1") || name.ends_with("rng") || tensor.dtype() != DType::f32) continue;
    ASSERT_NE(after.find(name), nullptr) << name;
    EXPECT_EQ(after.find(name)->values<float>(), tensor.values<float>()) << name;
    ++compared;
  }
  EXPECT_GT(compared, 200);
  // What was saved needs the first file no more.
  std::filesystem::remove(dir_ / "w.safetensors");
  const Ran eval = run_veldt({"eval", dir_ / "run", "--data", dir_ / "", "--part", "validation", "--json"});
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
  const Ran guess = run_veldt({"predict", dir_ / "run", dir_ / "p/light/3.png"});
  EXPECT_THAT(guess.out, HasSubstr("light"));
  EXPECT_LT(guess.out.find("light "), guess.out.find("dark "));
}

TEST_F(TrainKnown, AWholeNetworkIsTaughtAtTwoRatesAndResumed) {
  const Texts whole{"--set", "model.freeze=features.0", "--set", "optimizer.groups.head=2e-2",
                    "--set", "train.epochs=2"};
  const Ran first = train(whole);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const std::string half = bytes_of(dir_ / "run/model.safetensors");
  const Ran second = train(Texts{"--set", "model.freeze=features.0", "--set", "optimizer.groups.head=2e-2",
                                 "--set", "train.epochs=4", "--resume"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  const std::string resumed = bytes_of(dir_ / "run/model.safetensors");
  EXPECT_NE(resumed, half);
  std::filesystem::remove_all(dir_ / "run");
  const Ran at_once = train(Texts{"--set", "model.freeze=features.0", "--set", "optimizer.groups.head=2e-2",
                                  "--set", "train.epochs=4"});
  ASSERT_EQ(at_once.exit_code, 0) << at_once.err;
  const io::SafeTensors a = io::read_safetensors(dir_ / "run/model.safetensors");
  put_bytes(dir_ / "resumed.safetensors", resumed);
  for (const auto& [name, tensor] : io::read_safetensors(dir_ / "resumed.safetensors").tensors)
    if (tensor.dtype() == DType::f32) {
      EXPECT_EQ(a.find(name)->values<float>(), tensor.values<float>()) << name;
    }
}

// Pictures of any sizes, which training and use bring to the network's size in one way.
TEST_F(TrainKnown, PicturesOfOtherSizesAreFittedAsModelsPrepareDoes) {
  const std::string wide = dir_ / "p/dark/wide.png";
  std::vector<int> levels;
  for (int i = 0; i < 24 * 10; ++i) levels.push_back(i % 24 * 4);
  put_bytes(wide, make_png({.width = 24, .height = 10}, levels));
  put_bytes(dir_ / "r.toml",
            "[data]\nkind = \"pictures\"\npath = \"p\"\nbatch = 2\n[model]\n"
            "architecture = \"mobilenet_v2(width=0.25)\"\n[train]\nsteps = 1\n");
  const Ran ran = train();
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const recipe::Trained trained = recipe::load(dir_ / "run/model.safetensors");
  EXPECT_EQ(
      trained.prepare(io::read_image(wide)).values<float>(),
      models::prepare(models::about("mobilenet_v2").preprocessing, io::read_image(wide)).values<float>());
  const Ran eval = run_veldt({"eval", dir_ / "run", "--data", dir_ / "", "--part", "train", "--json"});
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
  const Ran show = run_veldt({"data", "show", dir_ / "r.toml", "--data", dir_ / "", "-o", dir_ / "show.png"});
  EXPECT_EQ(show.exit_code, 0) << show.err;
}

TEST_F(TrainKnown, RefusesAFileThatDoesNotFit) {
  const Ran other = train({"--set", "model.architecture=resnet18"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("does not fit resnet18"));
  EXPECT_THAT(other.err, HasSubstr("it lacks conv1.weight, bn1.weight, bn1.bias"));
  EXPECT_THAT(other.err, HasSubstr(" and 92 more; of it the network does not have features.0."));
  EXPECT_THAT(other.err, HasSubstr(" and 307 more\n"));
  EXPECT_TRUE(has_three_lines(other.err));
  const Ran missing = train({"--set", "model.from=nothing.pth"});
  EXPECT_EQ(missing.exit_code, 3) << missing.err;
  EXPECT_THAT(missing.err, HasSubstr("nothing.pth"));
}

}  // namespace
}  // namespace veldt::test
