// Saves memory at the cost of time: a part of the forward pass is run again for its gradient instead of being
// stored.
// Tests: tests/nn/recompute_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "veldt/core/rng.h"
#include "veldt/tensor/graph.h"

namespace veldt {

// f(inputs), of which the graph only keeps the inputs; backward() calls f again, and differentiates that
// (Chen et al. 2016, torch.utils.checkpoint). Gradients also reach other tensors that f uses, such as the
// parameters of a layer. The second call uses the random numbers and the Autocast of the first, and
// statistics of norms are updated once; everything else that f reads must be unchanged. Differentiable to any
// order; f may not call backward() or grad() itself.
//   for (const Block& block : blocks) x = checkpoint([&](const TensorList& in) { return block(in[0]); },
//   {x});
// Numbers drawn on the host (Rng::next_u32() and its like) and changes of tensors without a gradient are not
// tracked: f must find the same values. A tensor that f only reads detached gets a gradient of 0, where
// without checkpoint() it has none, and a result of integers or booleans has none. Everything that f refers
// to must exist until the gradient is computed. Throws what f throws, and Error if the number of f's draws
// changes, if f returns nothing or a tensor that it did not compute, or makes one with a graph of its own
// (EnableGrad).
Tensor checkpoint(const std::function<Tensor(const TensorList& inputs)>& f, const TensorList& inputs);

// True while this thread runs a part of the forward pass again.
bool recomputing();

// For ops that draw: created when the op is called, and used when it runs (which may be later, in a Plan).
class RandomDraw {
 public:
  RandomDraw();
  // The source of `count` numbers: `rng`, which advances by as many; while recomputing, the position of the
  // first call's draw.
  Rng take(Rng& rng, std::uint64_t count) const;

 private:
  std::shared_ptr<Rng> from_, into_;
};

}  // namespace veldt
