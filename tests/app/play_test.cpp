// Agents by the command: train, resume after kills with the same bits, play, sweep, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/app/command.h"
#include "tests/app/process.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/io/safetensors.h"

namespace veldt::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

const std::string kAgentRecipe = R"toml(
[environment]
name = "CartPole-v1"
copies = 4
[agent]
kind = "ppo"
width = 16
rollout = 32
batch = 64
normalize = true
[optimizer]
lr = 3e-3
clip = 0.5
[train]
steps = 6000
evaluate_every = 1500
episodes = 10
)toml";

const std::vector<std::string> kAsDqn{"--set", "agent.kind=dqn",  "--set", "agent.prioritized=true",
                                      "--set", "agent.start=200", "--set", "agent.rollout=4"};

struct AgentFolder {
  explicit AgentFolder(const std::string& recipe = kAgentRecipe) { io::write_file(dir / "r.toml", recipe); }
  std::vector<std::string> train(const std::string& out, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"train", dir / "r.toml", "--out", dir / out, "--threads", "1", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The numbers of a run's network.
  std::vector<float> weights(const std::string& out) const {
    std::vector<float> all;
    for (const auto& [name, tensor] : io::read_safetensors(dir / (out + "/model.safetensors")).tensors) {
      if (tensor.dtype() != DType::f32) continue;
      const std::vector<float> some = tensor.values<float>();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  TempDir dir;
};

TEST(PlayVerb, AnAgentIsTrainedPlayedAndDrawn) {
  const AgentFolder folder;
  const Ran ran = run_veldt(folder.train("run", {"--json", "--tensorboard", folder.dir / "tb"}));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string events =
      io::read_file((folder.dir / "tb/") + io::list_directory(folder.dir / "tb").at(0));
  for (const char* tag : {"val/return", "final/test_return"}) EXPECT_THAT(events, HasSubstr(tag));
  EXPECT_THAT(io::read_file(folder.dir / "run/record.json"), HasSubstr("\"test_return\""));
  const json trained = json::parse(ran.out);
  EXPECT_EQ(trained.at("stopped_by"), "steps");
  EXPECT_EQ(trained.at("steps"), 6016);  // whole rounds of 128
  for (const char* score : {"train_return", "val_return", "test_return"})
    EXPECT_GT(trained.at(score).get<double>(), 15);
  for (const char* name :
       {"model.safetensors", "best.safetensors", "metrics.csv", "metrics.jsonl", "curves.svg"})
    EXPECT_TRUE(io::exists(folder.dir / (std::string("run/") + name))) << name;
  EXPECT_THAT(
      io::read_file(folder.dir / "run/metrics.csv"),
      HasSubstr("step,episodes,train_return,validation_return,validation_deviation,validation_length,loss,"));

  const std::string film = folder.dir / "run.apng";
  const Ran seen = run_veldt(
      {"play", folder.dir / "run", "--episodes", "7", "--drawn", "2", "--size", "120", "-o", film, "--json"});
  ASSERT_EQ(seen.exit_code, 0) << seen.err;
  const json played = json::parse(seen.out);
  const auto returns = played.at("returns").get<std::vector<double>>();
  ASSERT_EQ(returns.size(), 7u);
  EXPECT_EQ(played.at("environment"), "CartPole-v1");
  EXPECT_EQ(played.at("mean_length"), played.at("mean_return"));  // 1 a step
  EXPECT_EQ(io::image_info(film).width, 120);
  EXPECT_EQ(io::image_info(film).height, 80);
  // A state before the first step, and one after each, of both.
  const std::string bytes = io::read_file(film);
  std::int64_t frames = 0;
  for (std::size_t at = bytes.find("fcTL"); at != std::string::npos; at = bytes.find("fcTL", at + 1))
    ++frames;
  EXPECT_EQ(frames, static_cast<std::int64_t>(returns[0] + returns[1]) + 2);
  const json again = json::parse(run_veldt({"play", folder.dir / "run", "--episodes", "7", "--json"}).out);
  EXPECT_EQ(again.at("returns"), played.at("returns"));
  const json other =
      json::parse(run_veldt({"play", folder.dir / "run", "--episodes", "7", "--seed", "9", "--json"}).out);
  EXPECT_NE(other.at("returns"), played.at("returns"));

  const json info = json::parse(run_veldt({"info", folder.dir / "run", "--json"}).out);
  EXPECT_EQ(info.at("kind"), "agent");
  EXPECT_EQ(info.at("recipe").at("environment.name").at(0), "CartPole-v1");
}

TEST(PlayVerb, WhatIsNoAgentOrNoAnimationIsRefused) {
  const AgentFolder folder;
  ASSERT_EQ(run_veldt(folder.train("run", {"--set", "train.steps=300"})).exit_code, 0);
  const auto refused = [](const std::vector<std::string>& words, int code, const std::string& text) {
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, code) << ran.out << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err));
    EXPECT_THAT(ran.err, HasSubstr(text));
  };
  refused({"play", folder.dir / "run", "-o", folder.dir / "x.gif"}, 2, "animated PNG");
  refused({"play", folder.dir / "none"}, 3, "none");
  refused({"play", kCub}, 4, "cub.png");
  refused({"predict", folder.dir / "run", kCub}, 4, "use veldt play");
  refused(folder.train("other", {"--find-rate"}), 2, "--find-rate is not for agents");
  // A file whose recipe promises more than it holds is not believed.
  io::SafeTensors file = io::read_safetensors(folder.dir / "run/model.safetensors");
  std::string recipe = file.metadata.at("recipe");
  recipe.replace(recipe.find("\"16\""), 4, "\"1000\"");
  file.metadata["recipe"] = recipe;
  io::write_safetensors(folder.dir / "lie.safetensors", file.tensors, file.metadata);
  refused({"play", folder.dir / "lie.safetensors"}, 4, "its recipe has 2 layers of 1000");
}

TEST(PlayVerb, ARecipeThatCannotBeSaysWhere) {
  const struct {
    const char* set;
    const char* text;
  } rows[] = {
      {"environment.name=CartPole", "did you mean 'CartPole-v1'?"},
      {"agent.kind=sarsa", "ppo"},
      {"agent.capacity=100", "'agent.capacity' is not for the agent 'ppo'"},
      {"agent.batch=48", "does not divide the 128 steps of a rollout"},
      {"environment.slip=0.2", "'environment.slip' is for GridWorld-v0 alone"},
      {"data.batch=3", "'data.batch' is not for agents"},
      {"optimizer.ema=0.9", "'optimizer.ema' is not for agents"},
      {"train.epochs=3", "'train.epochs' is not for agents"},
      {"train.steps=0", "has no 'train.steps'"},
      {"agent.width=100000", "100000"},
  };
  const AgentFolder folder;
  for (const auto& [set, text] : rows) {
    const Ran ran = run_veldt(folder.train("run", {"--set", set}));
    EXPECT_EQ(ran.exit_code, 2) << set << ran.out;
    EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(text));
  }
  const AgentFolder pendulum(
      "[environment]\nname = \"Pendulum-v1\"\n[agent]\nkind = \"dqn\"\n[train]\nsteps = 100\n");
  EXPECT_THAT(run_veldt(pendulum.train("run")).err, HasSubstr("DQN cannot act in Pendulum-v1"));
  const AgentFolder grid(
      "[environment]\nname = \"GridWorld-v0\"\nmap = [\"S.\", \".xG\"]\n[agent]\nkind = "
      "\"ppo\"\n[train]\nsteps = 100\n");
  EXPECT_THAT(run_veldt(grid.train("run")).err, HasSubstr("row 2 has 3 letters and the first 2"));
  const AgentFolder none(
      "[agent]\nkind = \"ppo\"\n[data]\nkind = \"mnist\"\n[model]\nlayers = []\n[train]\nsteps = 1\n");
  EXPECT_THAT(run_veldt(none.train("run")).err, HasSubstr("'agent.kind' is for agents alone"));
}

TEST(PlayVerb, AShareOfARunIsResumedWithTheSameBits) {
  for (const auto& more : {std::vector<std::string>{}, kAsDqn}) {
    const AgentFolder folder;
    ASSERT_EQ(run_veldt(folder.train("whole", more)).exit_code, 0);
    std::vector<std::string> part = more;
    part.insert(part.end(), {"--json", "--until", "0.4"});
    const json first = json::parse(run_veldt(folder.train("parts", part)).out);
    EXPECT_EQ(first.at("stopped_by"), "until");
    EXPECT_TRUE(first.contains("val_return"));
    EXPECT_LT(first.at("steps").get<int>(), 4000);
    part = more;
    part.push_back("--resume");
    ASSERT_EQ(run_veldt(folder.train("parts", part)).exit_code, 0);
    EXPECT_EQ(folder.weights("parts"), folder.weights("whole"));
  }
}

TEST(PlayVerb, TrainingEndsAtItsGoal) {
  const AgentFolder folder;
  const Ran ran =
      run_veldt(folder.train("run", {"--json", "--set", "train.goal=20", "--set", "train.steps=60000"}));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json out = json::parse(ran.out);
  EXPECT_EQ(out.at("stopped_by"), "goal");
  EXPECT_GE(out.at("val_return").get<double>(), 20);
  EXPECT_LT(out.at("steps").get<int>(), 60000);
}

TEST(PlayVerb, ASweepOrdersAgentsByTheirReturn) {
  const AgentFolder folder;
  const Ran ran = run_veldt({"sweep", folder.dir / "r.toml", "--over", "agent.epochs=1,8", "--seeds", "2",
                             "--out", folder.dir / "sweep", "--json", "--quiet"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const json table = json::parse(ran.out);
  EXPECT_EQ(table.at("score"), "val_return");
  EXPECT_EQ(table.at("larger_is_better"), true);
  ASSERT_EQ(table.at("rows").size(), 2u);
  double before = 1e9;
  for (const json& row : table.at("rows")) {
    const double mean = row.at("scores").at("val_return").at("mean");
    EXPECT_LE(mean, before);
    before = mean;
  }
  const Ran halved = run_veldt({"sweep", folder.dir / "r.toml", "--over", "agent.epochs=1,4", "--halving",
                                "2", "--out", folder.dir / "halved", "--json", "--quiet"});
  EXPECT_EQ(halved.exit_code, 0) << halved.err;
}

// At its very beginning, and soon after a checkpoint that it adds, so that it comes on however fast it is.
TEST(CrashAgent, KilledAtAnyMomentItEndsWithTheSameBits) {
  for (const auto& more : {std::vector<std::string>{}, kAsDqn}) {
    const AgentFolder folder;
    std::vector<std::string> words = more;
    words.insert(words.end(), {"--set", "train.steps=30000", "--every", "20ms"});
    ASSERT_EQ(run_veldt(folder.train("whole", words)).exit_code, 0);
    words.push_back("--resume");
    const TempDir log;
    const std::string checkpoints = folder.dir / "killed/checkpoints";
    std::mt19937 random(5);
    int tries = 0, kills = 0;
    for (bool done = false; !done; ++tries) {
      const std::string before = newest_checkpoint(checkpoints);
      Process process(folder.train("killed", words), log);
      const auto comes_on = [&] {
        return newest_checkpoint(checkpoints) != before ||
               io::exists(folder.dir / "killed/model.safetensors");
      };
      if (tries < 12) {
        if (tries > 1) {
          EXPECT_TRUE(comes_true(comes_on)) << process.err();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
        process.send(SIGKILL);
      }
      const int code = process.wait();
      ASSERT_TRUE(code == 0 || code == -SIGKILL) << process.err();
      done = code == 0;
      if (!done && tries > 1) ++kills;
    }
    EXPECT_GT(kills, 0);
    EXPECT_EQ(folder.weights("killed"), folder.weights("whole"));
  }
}

}  // namespace
}  // namespace veldt::test
