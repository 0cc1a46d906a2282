// The table of all architectures, and the check of what is asked of them.
#include "veldt/models/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/io/suggest.h"
#include "veldt/models/architecture.h"

namespace veldt::models {
namespace {

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all = [] {
    std::vector<Architecture> found;
    for (const auto family :
         {efficientnets, mobilenets_v2, mobilenets_v3, resnets, unets, vggs, vision_transformers})
      for (Architecture& architecture : family()) found.push_back(std::move(architecture));
    std::sort(found.begin(), found.end(),
              [](const Architecture& a, const Architecture& b) { return a.name < b.name; });
    return found;
  }();
  return all;
}

const Architecture& architecture_of(const std::string& name) {
  for (const Architecture& architecture : architectures())
    if (architecture.name == name) return architecture;
  const std::string nearest = io::nearest_of(name, names());
  throw ConfigError(fmt::format("there is no architecture '{}'", name),
                    fmt::format("there are {}", fmt::join(names(), ", ")),
                    nearest.empty() ? "give one of these" : fmt::format("did you mean '{}'?", nearest));
}

void check_option(const Architecture& architecture, const std::string& name, double value) {
  std::vector<std::string> known;
  for (const OptionInfo& option : architecture.about.options) {
    known.push_back(option.name);
    if (option.name != name) continue;
    const bool fits = value >= option.least && value <= option.most;
    if (fits && (!option.whole || value == std::floor(value))) return;
    throw ConfigError(fmt::format("{} of {} cannot be {}", name, architecture.name, value),
                      fmt::format("it is a {}number from {} to {}", option.whole ? "whole " : "",
                                  option.least, option.most),
                      fmt::format("give, for example, {}", option.otherwise));
  }
  throw ConfigError(fmt::format("{} has no option '{}'", architecture.name, name),
                    fmt::format("it has {}", fmt::join(known, ", ")), "leave it out");
}

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Architecture& architecture : architectures()) all.push_back(architecture.name);
  return all;
}

const About& about(const std::string& name) { return architecture_of(name).about; }

Options complete(const std::string& name, const Options& options) {
  const Architecture& architecture = architecture_of(name);
  for (const auto& [option, value] : options) check_option(architecture, option, value);
  Options all = options;
  for (const OptionInfo& option : architecture.about.options) all.emplace(option.name, option.otherwise);
  return all;
}

std::unique_ptr<nn::Module> make(const std::string& name, const Options& options, Rng& rng) {
  return architecture_of(name).make(complete(name, options), rng);
}

}  // namespace veldt::models
