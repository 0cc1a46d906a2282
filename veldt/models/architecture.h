// What a family of networks tells the registry of each of its members. To add a family: a file with its
// modules and a function such as resnets(), its declaration here, and its name in registry.cpp.
// Tests: tests/models/registry_test.cpp
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/models/about.h"
#include "veldt/nn/module.h"

namespace veldt::models {

struct Architecture {
  std::string name;
  About about;
  // `options` are complete and within their ranges.
  std::unique_ptr<nn::Module> (*make)(const Options& options, Rng& rng);
};

std::vector<Architecture> efficientnets();
std::vector<Architecture> mobilenets_v2();
std::vector<Architecture> mobilenets_v3();
std::vector<Architecture> resnets();
std::vector<Architecture> unets();
std::vector<Architecture> vggs();
std::vector<Architecture> vision_transformers();

// A whole number among the options.
inline std::int64_t count_of(const Options& options, const char* name) {
  return static_cast<std::int64_t>(options.at(name));
}

}  // namespace veldt::models
