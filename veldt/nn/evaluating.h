// A network in evaluation for a while.
// Tests: tests/nn/module_test.cpp, tests/models/generate_test.cpp
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "veldt/nn/module.h"

namespace veldt::nn {

// Evaluation mode while it exists; then each module has its own mode again. A network that is in evaluation
// is not touched, so that several threads may use it.
class Evaluating {
 public:
  explicit Evaluating(const Module& network) {
    for (const NamedModule& inner : network.named_modules())
      before_.emplace_back(inner.module, inner.module->training());
    if (std::none_of(before_.begin(), before_.end(), [](const auto& mode) { return mode.second; }))
      before_.clear();
    if (!before_.empty()) before_.front().first->eval();
  }
  ~Evaluating() {
    for (const auto& [module, training] : before_) module->train(training);  // outer ones first
  }
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

 private:
  std::vector<std::pair<Module*, bool>> before_;
};

}  // namespace veldt::nn
