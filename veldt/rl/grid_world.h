// A grid world that one can read: a map of text.
//   rl::GridWorld world({"S..o", ".#..", "...G"});
// Tests: tests/rl/grid_world_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/rl/environment.h"

namespace veldt::rl {

struct GridWorldOptions {
  double slip = 0;  // the chance that a step goes to one side of where it was meant to, either equally
  std::int64_t time_limit = 100;
};

// S is where an episode starts (of several, one by chance), G the goal: +1, the end. o is a pit: -1, the end.
// # is a wall, which one stays in front of, as at the border; . is floor. Each step costs 0.01. Choices: 0
// up, 1 right, 2 down, 3 left. Observed is a 1 at the place where one is, row by row, and 0 elsewhere. State:
// row, column, the seed of the episode's chance, and slips drawn so far.
class GridWorld final : public Environment {
 public:
  // Throws ConfigError, naming row and column, for rows of different lengths, another letter, no S or no G,
  // more than 64 rows or columns, and a slip outside of 0 .. 1.
  explicit GridWorld(std::vector<std::string> map = default_map(), GridWorldOptions options = {});
  static std::vector<std::string> default_map();

  void reset(std::vector<double>& state, Rng& rng) const override;
  StepResult step(std::vector<double>& state, const Action& action) const override;
  bool is_state(const std::vector<double>& state) const override;
  void observe(const std::vector<double>& state, std::vector<float>& observation) const override;
  void draw(const std::vector<double>& state, Canvas& canvas) const override;

 private:
  std::vector<std::string> map_;
  double slip_;
  std::vector<std::pair<int, int>> starts_;
};

}  // namespace veldt::rl
