// The limit of a gradient's norm where each rank has a part of the gradient. Only for files of dist/.
// Tests: tests/dist/tensor_parallel_test.cpp, tests/dist/pipeline_test.cpp
#pragma once

#include "veldt/dist/communicator.h"
#include "veldt/optim/optimizer.h"

namespace veldt::dist {

// Scales the gradients in the slab so that their norm over all ranks is at most `max_norm`; returns the norm
// before. `squares`: this rank's part of its square. Throws as Optimizer::clip_gradients() does.
double clip_to_norm(optim::Optimizer& optimizer, double squares, Communicator& ranks, double max_norm);

}  // namespace veldt::dist
