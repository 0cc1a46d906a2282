// What changes batches before they are learned from.
// Tests: tests/train/adaptation_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "veldt/data/loader.h"

namespace veldt::train {

// Changes each batch of a step before it is learned from: pictures that are small at first, say
// (data/progressive.h). The same step and batch have to give the same.
struct Adaptation {
  std::function<void(std::int64_t step, data::Batch& batch)> change;
  std::string text = {};  // what it does: a run is only resumed with the same
};

}  // namespace veldt::train
