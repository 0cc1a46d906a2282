// The table of environments.
#include "veldt/rl/environments.h"

#include "veldt/core/error.h"
#include "veldt/io/suggest.h"
#include "veldt/rl/classic_control.h"
#include "veldt/rl/grid_world.h"

namespace veldt::rl {
namespace {

struct EnvironmentRow {
  const char* name;
  EnvironmentPtr (*make)();
};

template <class E> EnvironmentPtr made() { return std::make_shared<E>(); }

constexpr EnvironmentRow kEnvironments[] = {{"Acrobot-v1", made<Acrobot>},
                                            {"CartPole-v1", made<CartPole>},
                                            {"GridWorld-v0", made<GridWorld>},
                                            {"MountainCar-v0", made<MountainCar>},
                                            {"Pendulum-v1", made<Pendulum>}};

}  // namespace

const std::vector<std::string>& environment_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const EnvironmentRow& row : kEnvironments) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

EnvironmentPtr make_environment(const std::string& name) {
  std::string known;
  for (const EnvironmentRow& row : kEnvironments) {
    if (name == row.name) return row.make();
    known += str(known.empty() ? "" : ", ", row.name);
  }
  const std::string nearest = io::nearest_of(name, environment_names());
  throw ConfigError(str("there is no environment '", name, "'"), str("there are ", known),
                    nearest.empty() ? "choose one of these" : str("did you mean '", nearest, "'?"));
}

}  // namespace veldt::rl
