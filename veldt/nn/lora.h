// LoRA: a large network is taught by small adapters beside its Linear layers, while its own parameters stay
// (Hu et al. 2021, "LoRA: Low-rank adaptation of large language models").
//   nn::add_lora(net, ".*(q|v)_proj", {.rank = 8});
//   optim::AdamW adam(net.trained_parameters(), {.lr = 1e-4});          // then train
//   io::write_safetensors("adapter.safetensors", nn::lora_state(net));  // a few megabytes
//   nn::merge_lora(net);                                                // now a plain network
// To load an adapter: add_lora() as when it was made, then net.load_state_dict(adapter, false).
// Tests: tests/nn/lora_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/nn/init.h"
#include "veldt/nn/module.h"

namespace veldt::nn {

struct LoraOptions {
  std::int64_t rank = 8;
  double alpha = 16;  // the adapter's product is scaled by alpha / rank
};

// Freezes the network and gives an adapter to each Linear layer whose name the regular expression
// (ECMAScript) matches as a whole; returns their names. At first the network computes what it did. To train
// more, the head for example, call requires_grad(true, "head") afterwards. Throws ConfigError, listing the
// Linear layers, if none matches, for a pattern that is none, and as Linear::add_lora(); then nothing has
// changed.
std::vector<std::string> add_lora(Module& network, const std::string& pattern,
                                  const LoraOptions& options = {}, Rng& rng = default_rng());
// The adapters' parameters, "lora_A" and "lora_B" of each layer, sharing memory.
NamedTensors lora_state(const Module& network);
// Adds each adapter to its layer's weight and drops it: the network computes the same, without extra work.
// What was frozen stays frozen.
void merge_lora(Module& network);

}  // namespace veldt::nn
