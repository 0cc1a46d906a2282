// Known networks by name, with the parameter names and the arithmetic of the packages whose trained files
// people have: torchvision's, and others' where about() says so. Their state_dict()s load unchanged.
//   auto net = models::make("resnet18", {{"classes", 10}});
// docs/models.md lists them.
// Tests: tests/models/registry_test.cpp, tests/models/peers_test.cpp
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veldt/models/about.h"
#include "veldt/nn/init.h"
#include "veldt/nn/module.h"

namespace veldt::models {

// All names, sorted: "efficientnet_lite0", "mobilenet_v2", "resnet18", ..
std::vector<std::string> names();
// Throws ConfigError for an unknown name; it lists those there are.
const About& about(const std::string& name);
// A new network with initial values drawn as its authors do. Throws ConfigError for an unknown name, an
// option that the architecture does not have, and a value out of its range.
std::unique_ptr<nn::Module> make(const std::string& name, const Options& options = {},
                                 Rng& rng = nn::default_rng());
// The options with all that were not given. Throws as make().
Options complete(const std::string& name, const Options& options);

}  // namespace veldt::models
