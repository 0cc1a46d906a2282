// Pruning of single weights: which of a network's weights stay is a mask of each parameter, by how much each
// weight counts, over the whole network, layer by layer, or N of each M neighbours.
//   const NamedTensors weights = compress::prunable(net);
//   const NamedTensors masks = compress::masks_of(compress::magnitudes(weights), {.share = 0.9});
//   compress::apply_masks(net, masks);   // nine weights of ten are 0 now
// compress/pruner.h does it while a network learns, and compress/channels.h cuts whole channels.
// Tests: tests/compress/prune_test.cpp, tests/compress/peers_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/nn/module.h"

namespace veldt::compress {

// The weights of layers that a network may do with fewer of: parameters of two dimensions or more, except
// for embeddings, and for those below a name in `except`. Shares memory. Throws ConfigError, listing the
// names, for an `except` that means none.
NamedTensors prunable(const nn::Module& network, const std::vector<std::string>& except = {});

// How much a weight counts: |w|, f32 or f64 as the weights.
NamedTensors magnitudes(const NamedTensors& weights);

// Over which weights a share is counted: those of the network together, or of each layer by itself.
enum class PruneScope { network, layer };

struct PruneOptions {
  double share = 0.5;  // of the weights that go, 0..1; rounded to whole weights, as torch.nn.utils.prune does
  PruneScope scope = PruneScope::network;
  // Both above 0: of each `of` neighbours along the second dimension (a layer's inputs) those `keep` that
  // count most stay, in place of a share: 2 of 4 is what sparse tensor cores want (Mishra et al. 2021).
  std::int64_t keep = 0, of = 0;
};

// A mask for each score, of its name, shape and dtype: 1 for a weight that stays, else 0. The weights that
// count least go, of equal ones those that come first. With a pattern, a layer whose inputs cannot be divided
// by `of` keeps all. Throws ConfigError for a share outside 0..1, a pattern that keeps none or all, and a
// score that is NaN.
NamedTensors masks_of(const NamedTensors& scores, const PruneOptions& options);

// Multiplies the parameters of those names by their masks. Throws ConfigError for a name that is no
// parameter's and a mask of another shape; then nothing has changed.
void apply_masks(const nn::Module& network, const NamedTensors& masks);
// What these weights are now as masks: 0 where a weight is 0.
NamedTensors masks_of_zeros(const NamedTensors& weights);

struct PrunedLayer {
  std::string name;       // of the parameter
  std::int64_t size = 0;  // weights
  std::int64_t kept = 0;  // of these not 0
  double magnitude = 0;   // what the kept ones have of the sum of all scores, 0..1
};
// A row for each mask. `scores` are those of before, by the same names.
std::vector<PrunedLayer> pruned_layers(const NamedTensors& masks, const NamedTensors& scores);
// The share of the weights that the masks take away, 0..1; 0 for no weights.
double pruned_share(const NamedTensors& masks);

}  // namespace veldt::compress
