// The weights of the best evaluations of a run, a file each: to average them, or to choose among them later.
// Tests: tests/train/trainer_test.cpp, tests/app/train_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "veldt/tensor/named.h"

namespace veldt::train {

class TopWeights {
 public:
  // The `count` best, in `folder`, as step-000500.safetensors with "step" and `name` in their metadata.
  TopWeights(std::string folder, std::string name, std::int64_t count, bool larger_is_better)
      : folder_(std::move(folder)), name_(std::move(name)), count_(count), larger_(larger_is_better) {}

  // For a run that goes on from `step`: removes the files of later steps; from step 0, all. Throws IoError.
  void begin(std::int64_t step) const;
  // Keeps these weights if they are among the best, and removes those that no longer are. Files already in
  // the folder count, so a resumed run continues with them. Throws IoError.
  void add(std::int64_t step, double value, const NamedTensors& state);

 private:
  std::string folder_, name_;
  std::int64_t count_;
  bool larger_;
};

}  // namespace veldt::train
