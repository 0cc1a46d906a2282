// Checks what an environment says of itself.
#include "veldt/rl/environment.h"

#include <cmath>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/rl/canvas.h"

namespace veldt::rl {
namespace {

void check_bounds(const EnvironmentSpec& spec, const std::vector<double>& low,
                  const std::vector<double>& high, const char* of) {
  if (low.size() != high.size())
    throw ConfigError(str("the environment ", spec.name, " contradicts itself"),
                      str(of, " has ", low.size(), " lower bounds and ", high.size(), " upper ones"),
                      "give one of each for each number");
  for (std::size_t i = 0; i < low.size(); ++i)
    if (!(low[i] < high[i]))
      throw ConfigError(str("the environment ", spec.name, " contradicts itself"),
                        str("number ", i + 1, " of ", of, " lies between ", low[i], " and ", high[i]),
                        "give a lower bound that is below the upper one");
}

}  // namespace

Environment::Environment(EnvironmentSpec spec) : spec_(std::move(spec)) {
  if (spec_.name.empty())
    throw ConfigError("an environment has no name", "errors and files have to name it",
                      "set EnvironmentSpec::name");
  if (spec_.low.empty())
    throw ConfigError(str("the environment ", spec_.name, " shows nothing"), "its observation has no numbers",
                      "give the bounds of each: EnvironmentSpec::low, high");
  check_bounds(spec_, spec_.low, spec_.high, "the observation");
  check_bounds(spec_, spec_.action_low, spec_.action_high, "the action");
  if (spec_.choices < 0 || spec_.time_limit < 0)
    throw ConfigError(str("the environment ", spec_.name, " contradicts itself"),
                      str("it has ", spec_.choices, " choices and a time limit of ", spec_.time_limit),
                      "give 0 or more");
  if ((spec_.choices > 0) == !spec_.action_low.empty())
    throw ConfigError(str("the environment ", spec_.name, " does not say what an action is"),
                      spec_.choices > 0 ? "it has choices and a continuous action" : "it has neither",
                      "set EnvironmentSpec::choices, or action_low and action_high");
  for (std::size_t i = 0; i < spec_.action_low.size(); ++i)
    if (!std::isfinite(spec_.action_low[i]) || !std::isfinite(spec_.action_high[i]))
      throw ConfigError(str("the environment ", spec_.name, " has an action without bounds"),
                        str("number ", i + 1, " of it is not bounded"), "give finite bounds");
}

void Environment::draw(const std::vector<double>& state, Canvas& canvas) const {
  std::vector<float> seen;
  observe(state, seen);
  const double width = 0.8 * canvas.width() / static_cast<double>(seen.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double low = spec_.low[i], high = spec_.high[i];
    // Numbers without bounds are squashed.
    const double share = std::isfinite(high - low) ? (seen[i] - low) / (high - low)
                                                   : 0.5 + std::atan(static_cast<double>(seen[i])) / M_PI;
    const double left = 0.1 * canvas.width() + width * static_cast<double>(i), floor = 0.9 * canvas.height();
    canvas.rectangle(left + 0.1 * width, floor - 0.8 * canvas.height() * std::min(1.0, std::max(0.0, share)),
                     left + 0.9 * width, floor, kBlue);
  }
}

double uniform(Rng& rng, double low, double high) {
  const std::uint64_t upper = rng.next_u32() >> 5, lower = rng.next_u32() >> 6;
  return low + (high - low) * (static_cast<double>(upper << 26 | lower) * 0x1p-53);
}

}  // namespace veldt::rl
