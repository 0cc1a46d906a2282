// veldt quantize: a table's network becomes integers, opens everywhere, goes on from training that knows of
// it; what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/create.h"
#include "veldt/recipe/trained.h"

namespace veldt::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

class QuantizeVerb : public testing::Test {
 protected:
  QuantizeVerb() {
    std::string rows = "a,b,y\n";
    for (int i = 0; i < 240; ++i) {
      const int a = i * 37 % 41 - 20, b = i * 23 % 29 - 14;
      rows += str(a, ',', b, ',', a * a + 4 * b > 120 ? 1 : 0, '\n');
    }
    put_bytes(dir_ / "t.csv", rows);
    put_bytes(
        dir_ / "t.toml",
        "[data]\nkind = \"table\"\npath = \"t.csv\"\ntarget = \"y\"\nclasses = true\ntest = 0.25\n[model]\n"
        "layers = [\"Linear(32)\", \"BatchNorm1d\", \"ReLU\", \"Linear(32)\", \"ReLU\", "
        "\"Linear(outputs)\"]\n"
        "[optimizer]\nlr = 1e-2\n[train]\nsteps = 150\n");
  }
  json ran(const Words& words) const {
    const Ran done = run_veldt(words + Words{"--json"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return json::parse(done.out, nullptr, false);
  }
  void train(const std::string& name, const Words& more = {}) const {
    const Ran done = run_veldt(
        Words{"train", dir_ / "t.toml", "--data", dir_ / "", "--out", dir_ / name, "--quiet"} + more);
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }

  const TempDir dir_;
};

TEST_F(QuantizeVerb, WritesANetworkThatOpensEverywhere) {
  train("run");
  for (const Words& how : {Words{}, Words{"--method", "dynamic"}, Words{"--method", "weights", "--keep", "5"},
                           Words{"--bits", "4"}}) {
    const json report =
        ran(Words{"quantize", dir_ / "run", "--data", dir_ / "", "-o", dir_ / "q.safetensors"} + how);
    const json& accuracy = report["scores"]["accuracy"];
    EXPECT_NEAR(accuracy["before"].get<double>(), accuracy["after"].get<double>(), 0.07) << report;
    EXPECT_EQ(report["folded"], 1);
    EXPECT_EQ(report["weights"].size(), how.size() == 4 ? 2u : 3u);
    EXPECT_LT(report["bytes"]["after"].get<double>(), 0.6 * report["bytes"]["before"].get<double>());
    const json again = ran({"eval", dir_ / "q.safetensors", "--data", dir_ / ""});
    EXPECT_EQ(again["accuracy"], accuracy["after"]);
  }
  EXPECT_EQ(ran({"predict", dir_ / "q.safetensors", dir_ / "t.csv"}).is_discarded(), false);
  const std::string q = dir_ / "q.safetensors", run = dir_ / "run";
  EXPECT_THAT(run_veldt({"prune", q, "-o", dir_ / "p.safetensors", "--weights", "0.5"}).err,
              HasSubstr("is quantised"));
  EXPECT_THAT(run_veldt({"quantize", run, "--data", dir_ / "", "-o", run + "/model.safetensors"}).err,
              HasSubstr("the output is the input"));
  const Ran twice =
      run_veldt({"quantize", dir_ / "q.safetensors", "--data", dir_ / "", "-o", dir_ / "r.safetensors"});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.err, HasSubstr("already"));
  EXPECT_THAT(run_veldt({"train", q, "--data", dir_ / ""}).err, HasSubstr("integers are not trained"));
  EXPECT_EQ(ran({"info", q}).at("quantised"), (json{{"4 bits, floats", 2}, {"8 bits, floats", 1}}));
  const Ran bits =
      run_veldt({"quantize", dir_ / "run", "--data", dir_ / "", "-o", dir_ / "r.safetensors", "--bits", "5"});
  EXPECT_EQ(bits.exit_code, 2);
  EXPECT_THAT(bits.err, HasSubstr("8 or 4"));
  const Ran none = run_veldt({"quantize", run, "--data", dir_ / "", "-o", dir_ / "r.safetensors", "--bits",
                              "4", "--keep", "3", "--keep", "5"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("can have 4 bits"));
}

// A file whose integers have no meaning, or that are not the network's.
TEST_F(QuantizeVerb, HostileFilesAreRefused) {
  train("run");
  ran({"quantize", dir_ / "run", "--data", dir_ / "", "-o", dir_ / "q.safetensors"});
  const io::SafeTensors good = io::read_safetensors(dir_ / "q.safetensors");
  const auto refused = [&](const io::SafeTensors& bad, int code, const std::string& said) {
    auto metadata = bad.metadata;
    metadata.erase("veldt.xxh3");
    io::write_safetensors(dir_ / "bad.safetensors", bad.tensors, metadata);
    const Ran done = run_veldt({"eval", dir_ / "bad.safetensors", "--data", dir_ / ""});
    EXPECT_EQ(done.exit_code, code) << done.err;
    EXPECT_THAT(done.err, HasSubstr(said));
  };
  const auto with = [&](const std::string& name, const Tensor& tensor) {
    io::SafeTensors bad = good;
    for (NamedTensor& t : bad.tensors)
      if (t.name == name) t.tensor = tensor;
    return bad;
  };
  refused(with("0.weight_scale", full({32}, 0)), 9, "scale is 0");
  refused(with("0.weight_scale", full({32}, NAN)), 9, "0.weight");
  refused(with("3.weight_input", Tensor::of({2}, {0.1, 300})), 9, "zero point of its input is 300");
  refused(with("3.weight_input", full({2}, -1)), 9, "3.weight");
  refused(with("0.weight", zeros({31, 2}, DType::i8)), 4, "0.weight");
  refused(with("0.weight_scale", zeros({1})), 4, "0.weight_scale");
  const auto told = [&](const std::string& from, const std::string& to) {
    io::SafeTensors bad = good;
    std::string& text = bad.metadata["quantization"];
    EXPECT_NE(text.find(from), std::string::npos) << text;
    text.replace(text.find(from), from.size(), to);
    return bad;
  };
  refused(told("\"bits\":8", "\"bits\":4"), 4, "group");
  refused(told("\"bits\":8", "\"bits\":9"), 4, "8 nor 4");
  refused(told("\"0.weight\"", "\"7.weight\""), 4, "7.weight");
  refused(told("\"format_version\":1", "\"format_version\":2"), 9, "version");
  refused(told("\"1\":\"0\"", "\"1\":\"2\""), 4, "'1'");
  // What the command that looks at files shows all the same, and without a terminal's signs.
  EXPECT_THAT(run_veldt({"info", dir_ / "bad.safetensors"}).out, HasSubstr("8 bits, static"));
  refused(told("\"bits\":8", "\"bits\":\"\u009b31m\""), 4, "quantisation");
  const Ran shown = run_veldt({"info", dir_ / "bad.safetensors"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, Not(HasSubstr("\u009b")));
  refused(told("\"to\":\"5.weight\"", "\"to\":\"9.weight\""), 4, "9.weight");
}

// The recipe's key: what training saw is what the file computes.
TEST_F(QuantizeVerb, TakesWhatTrainingHasLearned) {
  train("run", {"--set", "train.quantize=static"});
  const json report = ran({"quantize", dir_ / "run", "--data", dir_ / "", "-o", dir_ / "q.safetensors"});
  const json& accuracy = report["scores"]["accuracy"];
  EXPECT_NEAR(accuracy["before"].get<double>(), accuracy["after"].get<double>(), 0.02) << report;
  EXPECT_GT(accuracy["after"].get<double>(), 0.8);
  EXPECT_EQ(report["method"], "learned");
  const Ran other = run_veldt(
      {"quantize", dir_ / "run", "--data", dir_ / "", "-o", dir_ / "q.safetensors", "--method", "dynamic"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("--method changes nothing"));
  // What a file or the environment says of all networks stands back.
  const Ran stands = run_veldt({"quantize", dir_ / "run", "--data", dir_ / "", "-o", dir_ / "q.safetensors"},
                               {.environment = {"VELDT_METHOD=dynamic"}});
  EXPECT_EQ(stands.exit_code, 0) << stands.err;
  // From a network that has learned without it; its ranges are found by what it sees, and dropped again.
  train("floats");
  const Words more{"--data", dir_ / "", "--quiet", "--set", "train.steps=30", "--set"};
  Ran further = run_veldt(Words{"train", dir_ / "floats", "--out", dir_ / "more"} + more +
                          Words{"train.quantize=static"});
  EXPECT_EQ(further.exit_code, 0) << further.err;
  const json learned =
      ran({"quantize", dir_ / "more", "--data", dir_ / "", "-o", dir_ / "q.safetensors"})["scores"];
  EXPECT_NEAR(learned["accuracy"]["before"].get<double>(), learned["accuracy"]["after"].get<double>(), 0.02);
  EXPECT_GT(learned["accuracy"]["after"].get<double>(), 0.8);
  further = run_veldt(Words{"train", dir_ / "more", "--out", dir_ / "back"} + more +
                      Words{"train.quantize=weights"});
  EXPECT_EQ(further.exit_code, 0) << further.err;
  EXPECT_EQ(run_veldt({"train", dir_ / "t.toml", "--data", dir_ / "", "--out", dir_ / "no", "--set",
                       "train.quantize=3"})
                .exit_code,
            2);
}

}  // namespace
}  // namespace veldt::test
