// Memory for time: a part of the forward pass that is run again for its gradient, instead of kept.
// Tests: tests/nn/recompute_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "veldt/core/rng.h"
#include "veldt/tensor/graph.h"

namespace veldt {

// f(inputs), of which the graph keeps the inputs alone; backward() calls f again, and differentiates that
// (Chen et al. 2016, torch.utils.checkpoint). Gradients also reach what f uses besides: the parameters of a
// layer. Random numbers are those of the first call, statistics of norms are updated once, and an Autocast is
// as it was; all else that f reads must be so too. Differentiable to any order; f may not call backward() or
// grad() itself.
//   for (const Block& block : blocks) x = checkpoint([&](const TensorList& in) { return block(in[0]); },
//   {x});
// Numbers drawn on the host (Rng::next_u32() and its like) and tensors without a gradient that are changed
// meanwhile are not seen: f must find them as they were. What f only reads detached has a gradient of 0,
// where without checkpoint() it has none, and a result of whole numbers or booleans has none. What f refers
// to must live until the gradient is there. Throws what f throws, and Error if f draws another number of
// times than before, gives back nothing or a tensor that it did not compute, or makes one with a graph of its
// own (EnableGrad).
Tensor checkpoint(const std::function<Tensor(const TensorList& inputs)>& f, const TensorList& inputs);

// True while this thread runs a part of the forward pass again.
bool recomputing();

// For ops that draw: made where the op is called, asked for its place when the op runs (which may be later,
// in a Plan).
class RandomDraw {
 public:
  RandomDraw();
  // Where to draw `count` numbers from: `rng`, which moves on by as many; while recomputing, from where the
  // first call has drawn them.
  Rng take(Rng& rng, std::uint64_t count) const;

 private:
  std::shared_ptr<Rng> from_, into_;
};

}  // namespace veldt
