// A trained network made smaller: weights that become 0, channels and heads that are cut out of it, and its
// recipe with them, so that its file opens wherever the whole one's does.
//   const recipe::Pruned smaller = recipe::pruned(recipe::load("runs/cifar"), {.cut = {.share = 0.5}});
//   recipe::save("half.safetensors", smaller.network.recipe, smaller.network.facts, smaller.network.model,
//   {});
// Tests: tests/recipe/pruned_test.cpp, tests/app/prune_test.cpp, tests/fuzz/models.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "veldt/compress/channels.h"
#include "veldt/compress/prune.h"
#include "veldt/recipe/trained.h"

namespace veldt::recipe {

struct PruneRequest {
  compress::CutOptions cut = {};                       // channels and heads, first
  std::optional<compress::PruneOptions> weights = {};  // of what is left
  std::vector<std::string> except = {};                // beginnings of names, for both
  // The values that what stays begins with again: a lottery ticket (Frankle & Carbin 2019).
  std::optional<NamedTensors> rewind = {};
};

struct PrunedRow {
  std::string name;       // of a parameter, or of the layers that make a group: "1.conv, 3"
  const char* what = "";  // "weights", "channels", "heads"
  std::int64_t size = 0, kept = 0;
  double score = 0;        // what is kept of the sum of all scores, 0..1
  std::string fixed = {};  // why none can go
};

struct Pruned {
  Trained network;  // its recipe has prune.keep_zeros if weights are 0; it has no scores
  std::vector<PrunedRow> rows;
  std::int64_t parameters_before = 0, zeros = 0;  // zeros: among its weights
};

// Throws UsageError for a known network whose channels are to go, since its architecture says how many it
// has, and for one without any that could; ConfigError as choose() and masks_of(), and for a state to rewind
// to that has other tensors.
Pruned pruned(Trained network, const PruneRequest& request);
// The values that the network began with, from its recipe's seed. Throws UsageError for one that began with
// weights of a file or of the data (model.from, WhiteningConv2d), which no recipe holds.
NamedTensors first_weights(const Trained& network);

}  // namespace veldt::recipe
