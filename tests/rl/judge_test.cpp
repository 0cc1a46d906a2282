// Policies that Veldt has saved, judged in gymnasium by a program that is not Veldt.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"

namespace veldt::rl {
namespace {

// A recipe of the house, trained by the command, has to do as well in gymnasium.
void judge(const std::string& recipe, const std::string& least, const std::string& sets) {
  if (!test::python_has("gymnasium")) GTEST_SKIP() << test::python() << " has no gymnasium; set VELDT_PYTHON";
  const test::TempDir dir;
  const std::string train = str(VELDT_BINARY, " train ", VELDT_SOURCE, "/recipes/", recipe,
                                ".toml --quiet --out ", dir / "run", sets, " > ", dir / "out.txt");
  ASSERT_EQ(std::system(train.c_str()), 0);
  EXPECT_EQ(test::run_python(str("-B ", VELDT_SOURCE, "/tests/rl/judge.py ", dir / "run/model.safetensors",
                                 " --episodes 100 --least ", least)),
            0);
}

TEST(SlowJudge, CartPoleByPpo) { judge("cartpole", "475", " --set train.goal=500"); }
TEST(SlowJudge, CartPoleByDqn) { judge("cartpole_dqn", "475", ""); }
TEST(SlowJudge, Acrobot) { judge("acrobot", "-100", ""); }
TEST(SlowJudge, Pendulum) { judge("pendulum", "-250", ""); }

}  // namespace
}  // namespace veldt::rl
