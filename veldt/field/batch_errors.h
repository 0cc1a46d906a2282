// How well the last batch of a fit was drawn.
// Tests: tests/field/ranks_test.cpp, tests/field/fit_test.cpp, tests/field/device_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/data/loader.h"
#include "veldt/dist/communicator.h"
#include "veldt/field/batches.h"
#include "veldt/field/sampling.h"

namespace veldt::field {

// The squared error of each pixel of each part, the mean of its channels: [edges + flats]. `outputs`: of the
// field's network, [edges * footprint^2 + flats, channels] of each part.
std::vector<Tensor> errors_of(const Batches& batches, const std::vector<Tensor>& outputs,
                              const FieldOptions& field);

// The mean over the pixels of all parts, an estimate of that over the signal. `errors`: of each own part;
// `ranks`: whose parts count too, null for these alone.
double mean_error(const PointSampler& sampler, const Batches& batches, const std::vector<Tensor>& errors,
                  const data::Parts& parts, dist::Communicator* ranks);

}  // namespace veldt::field
