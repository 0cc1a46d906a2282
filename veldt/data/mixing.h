// Batches whose pictures and labels are mixed in pairs.
// Tests: tests/data/augment_test.cpp
#pragma once

#include <cstdint>

#include "veldt/data/loader.h"

namespace veldt::data {

// Pairs of pictures mixed, both x and one-hot labels, by a share drawn from Beta(alpha, alpha): all of both
// (Zhang et al. 2018), or a rectangle (Yun et al. 2019). A batch is {inputs, probabilities f32 [n, classes]},
// which cross_entropy() takes. Throws ConfigError unless alpha >= 0.05 and classes > 0.
Collate mixup(double alpha, std::int64_t classes);
Collate cutmix(double alpha, std::int64_t classes);

}  // namespace veldt::data
