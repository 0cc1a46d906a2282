// The same start and actions give what gymnasium gives: states, observations, rewards, ends.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/rl/environments.h"
#include "veldt/rl/vector_environment.h"

namespace veldt::rl {
namespace {

// As in tests/golden/environments.py.
class Congruential {
 public:
  double uniform(double low, double high) {
    x_ = x_ * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (static_cast<double>(x_ >> 11) * 0x1p-53);
  }

 private:
  std::uint64_t x_ = 1;
};

using Bounds = std::vector<std::pair<double, double>>;

Bounds starts_of(const std::string& name) {
  constexpr double kPi = 3.14159265358979323846;
  if (name == "CartPole-v1") return Bounds(4, {-0.05, 0.05});
  if (name == "Acrobot-v1") return Bounds(4, {-0.1, 0.1});
  if (name == "MountainCar-v0") return {{-0.6, -0.4}, {0.0, 0.0}};
  return {{-kPi, kPi}, {-1, 1}};
}

void compare(const nlohmann::json& golden, const std::string& name) {
  const nlohmann::json& wanted = golden.at(name);
  VectorEnvironment world(make_environment(name), 1, 0);
  Congruential draw;
  const auto begin = [&] {
    std::vector<double> start;
    for (const auto& [low, high] : starts_of(name)) start.push_back(draw.uniform(low, high));
    start.resize(world.state(0).size());  // of Pendulum the last torque, for its picture
    world.set_state(0, start);
  };
  begin();
  std::vector<std::int64_t> terminated, truncated;
  std::size_t row = 0;
  double worst = 0;
  for (std::int64_t step = 0; step < wanted.at("steps").get<std::int64_t>(); ++step) {
    // A copy of its own, since a step that ends an episode leaves the next one's start.
    std::vector<double> state = world.state(0);
    StepResult result;
    if (world.spec().is_discrete()) {
      const std::int64_t choice =
          static_cast<std::int64_t>(draw.uniform(0, static_cast<double>(world.spec().choices)));
      result = world.environment().step(state, {.choice = choice});
      world.step(std::vector<std::int64_t>{choice});
    } else {
      const std::vector<float> action{static_cast<float>(draw.uniform(-2.5, 2.5))};
      result = world.environment().step(state, {.values = action});
      world.step(action);
    }
    if (world.terminated()[0] != 0) terminated.push_back(step);
    if (world.truncated()[0] != 0) truncated.push_back(step);
    const auto& rows = wanted.at("rows");
    if (row < rows.size() && rows[row].at("step").get<std::int64_t>() == step) {
      const auto there = rows[row].at("state").get<std::vector<double>>();
      for (std::size_t i = 0; i < there.size(); ++i) worst = std::max(worst, std::abs(state[i] - there[i]));
      ASSERT_NEAR(result.reward, rows[row].at("reward").get<double>(), 1e-7) << name << " in step " << step;
      ASSERT_EQ(world.rewards()[0], static_cast<float>(result.reward));
      const auto seen = rows[row].at("observation").get<std::vector<float>>();
      ASSERT_EQ(seen.size(), world.final_observations().size());
      for (std::size_t i = 0; i < seen.size(); ++i)
        ASSERT_NEAR(world.final_observations()[i], seen[i], 1e-7 * std::max(1.0f, std::abs(seen[i])) + 6e-8)
            << name << " in step " << step;
      ++row;
    }
    if (world.ended(0)) begin();
  }
  EXPECT_GT(row, 100u);
  EXPECT_LT(worst, 1e-7) << name;
  EXPECT_EQ(terminated, wanted.at("terminated").get<std::vector<std::int64_t>>()) << name;
  EXPECT_EQ(truncated, wanted.at("truncated").get<std::vector<std::int64_t>>()) << name;
  ::testing::Test::RecordProperty(name, std::to_string(worst));
}

void compare_all(const std::string& path) {
  std::ifstream file(path);
  const nlohmann::json golden = nlohmann::json::parse(file);
  for (const char* name : {"CartPole-v1", "Acrobot-v1", "MountainCar-v0", "Pendulum-v1"})
    compare(golden, name);
}

TEST(GoldenEnvironments, DoWhatGymnasiumDid) {
  compare_all(std::string(VELDT_SOURCE) + "/tests/golden/environments.json");
}

TEST(SlowGymnasium, TenThousandStepsAreTheSame) {
  if (!test::python_has("gymnasium")) GTEST_SKIP() << test::python() << " has no gymnasium; set VELDT_PYTHON";
  const test::TempDir dir;
  ASSERT_EQ(test::run_python(
                str("-B ", VELDT_SOURCE, "/tests/golden/environments.py ", dir / "all.json", " 10000 1")),
            0);
  compare_all(dir / "all.json");
}

}  // namespace
}  // namespace veldt::rl
