// veldt explain: pictures, texts and tables of networks that were not trained, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/app/small_model.h"
#include "tests/support/temp_dir.h"
#include "veldt/data/tokenizer.h"
#include "veldt/io/csv.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/models/model_file.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/model.h"
#include "veldt/recipe/trained.h"

namespace veldt::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class ExplainVerb : public testing::Test {
 protected:
  ExplainVerb() {
    put_bytes(dir_ / "seven.png", rings_png());
    recipe::Facts pictures, texts, rows;
    pictures.model = {{1, 28, 28}, DType::f32, 3};
    pictures.classes = {"ring", "b", "c"};
    keep("pictures",
         "[data]\nkind = \"mnist\"\n[model]\nlayers = [\"Conv2d(4, 3, padding=1)\", \"ReLU\", "
         "\"MaxPool2d(4)\", \"Flatten\", \"Linear(outputs)\"]\n[train]\nepochs = 1\n",
         pictures);
    const auto letters = std::make_shared<data::CharTokenizer>("abc \x1b");
    texts.tokenizer = letters;
    texts.model = {{8}, DType::i64, letters->size()};
    keep("text",
         "[data]\nkind = \"text\"\npath = \"t.txt\"\ncontext = 8\n[model]\nlayers = [\"Embedding(4)\", "
         "\"Linear(8)\", \"Tanh\", \"Linear(outputs)\"]\n[train]\nepochs = 1\n",
         texts);
    rows.model = {{2}, DType::f32, 2};
    rows.classes = {"0", "1"};
    rows.inputs = {"a", "b<"};
    rows.columns = {{}, {}};
    keep("table",
         "[data]\nkind = \"table\"\npath = \"t.csv\"\ntarget = \"y\"\nclasses = true\n[model]\nlayers = "
         "[\"Linear(outputs)\"]\n[train]\nepochs = 1\n",
         rows);
    put_bytes(dir_ / "rows.csv", "a,b<,y\n1,2,0\n3,-1,1\n-2,5,0\n0,1,1\n2,2,1\n");
  }

  void keep(const std::string& name, const std::string& toml, const recipe::Facts& facts) const {
    const recipe::Recipe r = recipe::parse(toml);
    recipe::save(dir_ / (name + ".safetensors"), r, facts, recipe::build_model(r, facts.model), {});
  }
  std::string file(const std::string& name) const { return dir_ / (name + ".safetensors"); }
  static json parsed(const std::vector<std::string>& words) {
    const Ran ran = run_veldt(words + std::vector<std::string>{"--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return json::parse(ran.out, nullptr, false);
  }
  void refused(const std::vector<std::string>& words, int code, const std::string& said) const {
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, code) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(said));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "none.png"));
  }

  const TempDir dir_;
};

// Half a second a start under the sanitizers, which see each method in tests/explain.
using SlowExplainVerb = ExplainVerb;

TEST_F(SlowExplainVerb, DrawsPicturesByEachMethodThatFits) {
  const std::string seven = dir_ / "seven.png", out = dir_ / "why.png";
  const json plain = parsed({"explain", file("pictures"), seven, "-o", out});
  EXPECT_EQ(plain.at("method"), "gradcam");
  EXPECT_EQ(io::read_image(out).size(2), 3);
  for (const char* method : {"gradient", "input-x-gradient", "integrated", "smoothgrad", "guided",
                             "gradcam++", "lrp", "occlusion"}) {
    const json found =
        parsed({"explain", file("pictures"), seven, "-o", out, "--method", method, "--class", "b"});
    EXPECT_EQ(found.at("method"), method);
    EXPECT_EQ(found.at("number"), 1);
  }
  const json checked = parsed({"explain", file("pictures"), seven, "--check", "--method", "gradient"});
  EXPECT_EQ(checked.at("check").at("stages").size(), 2);
  EXPECT_TRUE(checked.at("check").at("looks_at_the_network").is_boolean());
  const Ran said = run_veldt({"explain", file("pictures"), seven, "--check"});
  EXPECT_THAT(said.out, HasSubstr("rank correlation"));
  EXPECT_EQ(run_veldt({"explain", file("pictures"), "--filters", "-o", out}).exit_code, 0);
  const json ranked = parsed({"explain", file("pictures"), seven, seven, "--channel", "2", "-o", out});
  EXPECT_EQ(ranked.at("inputs").size(), 2);
  EXPECT_EQ(ranked.at("layer"), "1");
}

TEST_F(SlowExplainVerb, TakesKnownNetworks) {
  const models::Model net = models::make_model("mobilenet_v2", {{"classes", 4}, {"width", 0.25}});
  models::save(dir_ / "known.safetensors", net);
  const json found =
      parsed({"explain", dir_ / "known.safetensors", dir_ / "seven.png", "-o", dir_ / "why.png"});
  EXPECT_EQ(found.at("class"), std::to_string(found.at("number").get<int>()));
  refused(
      {"explain", dir_ / "known.safetensors", dir_ / "seven.png", "-o", dir_ / "none.png", "--method",
       "rollout"},
      2,
      "give one of gradient, input-x-gradient, integrated, smoothgrad, occlusion, gradcam, gradcam++, lrp");
}

TEST_F(ExplainVerb, SaysWhatTheNetworkSaysAndWhatItSaw) {
  // Sure of ring for what is light, unsure and for b of what is dark.
  recipe::Trained trained = recipe::load(file("pictures"));
  for (const NamedTensor& named : trained.model.state_dict()) {
    Tensor weights = named.tensor;
    weights.assign(zeros(weights.shape()));
    if (named.name == "0.bias") weights.assign(full(weights.shape(), 0.5));
    if (named.name == "0.weight") weights.assign(full(weights.shape(), 1.0 / 9));
    if (named.name == "4.weight") slice(weights, 0, 0, 1).assign(full({1, weights.size(1)}, 0.05));
    if (named.name == "4.bias") weights.assign(Tensor::of({3}, {-7.5, 0.5, 0}));
  }
  recipe::save(dir_ / "light.safetensors", trained.recipe, trained.facts, trained.model, {});
  io::write_image(dir_ / "dark.png", full({30, 60, 1}, 0.1));
  const std::vector<std::string> words = {"explain",  file("light"), dir_ / "dark.png", "--method",
                                          "gradient", "-o",          dir_ / "why.png"};
  const Ran ran = run_veldt(words + std::vector<std::string>{"--class", "c"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("the network says b: "));
  EXPECT_THAT(ran.err, HasSubstr("dark.png is 60x30, and the network sees it scaled to 28x28, stretched"));
  EXPECT_THAT(ran.err, HasSubstr("light for dark, the network says ring, "));
  const json found = parsed(words + std::vector<std::string>{"--class", "c"});
  EXPECT_EQ(found.at("class"), "c");
  EXPECT_EQ(found.at("likeliest").at("class"), "b");
  io::write_image(dir_ / "dark.png", full({28, 28, 1}, 0.9));
  const Ran plain = run_veldt(words);
  EXPECT_EQ(plain.err, "");
  EXPECT_THAT(plain.out, Not(HasSubstr("the network says")));
}

TEST_F(ExplainVerb, ColoursTexts) {
  const std::string page = dir_ / "why.html";
  const json found = parsed({"explain", file("text"), "--prompt", "ab c", "-o", page, "--class", "a"});
  EXPECT_EQ(found.at("tokens").size(), 4);
  EXPECT_EQ(found.at("tokens")[2].at("token"), " ");
  EXPECT_EQ(found.at("next"), "a");
  EXPECT_THAT(io::read_file(page), HasSubstr("speaks for it"));
  // A file, of which the last eight characters are seen; no colours in a pipe, and no control characters.
  put_bytes(dir_ / "t.txt", "aaaaaaaaaab\x1b");
  const Ran ran = run_veldt({"explain", file("text"), dir_ / "t.txt", "--method", "gradient"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 9);
  EXPECT_THAT(ran.out, HasSubstr("\\x1b"));
  EXPECT_THAT(ran.out, Not(HasSubstr("\x1b")));
  refused({"explain", file("text"), "--prompt", "ab", "--method", "occlusion"}, 2, "this network writes");
  refused({"explain", file("text"), "--prompt", "ab", "-o", dir_ / "none.png"}, 2, "ending .html");
  refused({"explain", file("text"), "--prompt", "xyz"}, 2, "x");
  refused({"explain", file("text")}, 2, "there is no one text");
}

TEST_F(ExplainVerb, RanksColumns) {
  const std::string chart = dir_ / "why.svg";
  const json found = parsed({"explain", file("table"), dir_ / "rows.csv", "-o", chart});
  EXPECT_EQ(found.at("columns").size(), 2);
  EXPECT_EQ(found.at("columns")[0].at("values").size(), found.at("columns")[0].at("predictions").size());
  EXPECT_THAT(io::read_file(chart), HasSubstr("b&lt;"));
  recipe::Facts numbers;
  numbers.model = {{2}, DType::f32, 1};
  numbers.inputs = {"a", "b<"};
  numbers.columns = {{}, {}};
  numbers.scaling = {2, 3};
  keep("numbers",
       "[data]\nkind = \"table\"\npath = \"t.csv\"\ntarget = \"y\"\n[model]\nlayers = [\"Linear(outputs)\"]\n"
       "[train]\nepochs = 1\n",
       numbers);
  const json of_numbers = parsed({"explain", file("numbers"), dir_ / "rows.csv"});
  EXPECT_LT(of_numbers.at("score"), 0);  // an error, of which less is better
  refused({"explain", file("numbers"), dir_ / "rows.csv", "--class", "1"}, 2, "it predicts a number");
  refused({"explain", file("table"), dir_ / "rows.csv", "--method", "lrp"}, 2, "whatever the network is");
  refused({"explain", file("table"), dir_ / "rows.csv", "--class", "3"}, 2, "2 classes");
  put_bytes(dir_ / "short.csv", "a,b<\n1,2\n");
  refused({"explain", file("table"), dir_ / "short.csv"}, 4, "y");
  put_bytes(dir_ / "one.csv", "a,b<,y\n1,2,0\n");
  refused({"explain", file("table"), dir_ / "one.csv"}, 2, "two rows");
}

TEST_F(ExplainVerb, RefusesWhatDoesNotFit) {
  const std::string seven = dir_ / "seven.png", none = dir_ / "none.png";
  refused({"explain", file("pictures"), seven}, 2, "give -o WHY.png");
  refused({"explain", file("pictures"), "-o", none}, 2, "there is no picture to explain");
  refused({"explain", file("pictures"), seven, seven, "-o", none}, 2, "there are several pictures");
  refused({"explain", file("pictures"), seven, "-o", none, "--class", "rings"}, 2, "did you mean 'ring'?");
  refused({"explain", file("pictures"), seven, "-o", none, "--class", "3"}, 2,
          "give a number of 0 .. 2, or one of ring, b, c");
  refused({"explain", file("pictures"), seven, "-o", none, "--layer", "4"}, 2, "it gives [1, 3]");
  refused({"explain", file("pictures"), seven, "-o", none, "--layer", "10"}, 2, "give one of 0, 1, 2, 3, 4");
  refused({"explain", file("pictures"), seven, "-o", none, "--layer", "1", "--method", "lrp"}, 2,
          "leave it out");
  refused({"explain", file("pictures"), seven, "-o", none, "--prompt", "a"}, 2, "--prompt does not fit");
  refused({"explain", file("pictures"), seven, seven, "-o", none, "--channel", "9"}, 2, "give one of 0 .. 3");
  refused({"explain", file("pictures"), "--filters", "--channel", "1", "-o", none}, 2, "leave one out");
  refused({"explain", file("pictures"), seven, "-o", seven}, 2, "seven.png");
  refused({"explain", file("pictures"), seven, "-o", dir_ / "none.txt"}, 2, "none.txt");
  refused({"explain", seven, seven, "-o", none}, 4, "seven.png");
  refused({"explain", dir_ / "gone", seven, "-o", none}, 3, "gone");
  refused({"explain", file("pictures"), dir_ / "rows.csv", "-o", none}, 4, "rows.csv");
}

}  // namespace
}  // namespace veldt::test
