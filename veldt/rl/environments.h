// Environments by name.
// Tests: tests/rl/environment_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/rl/environment.h"

namespace veldt::rl {

// "Acrobot-v1", "CartPole-v1", "GridWorld-v0", "MountainCar-v0", "Pendulum-v1".
const std::vector<std::string>& environment_names();
// Throws ConfigError for another name, with the nearest there is.
EnvironmentPtr make_environment(const std::string& name);

}  // namespace veldt::rl
