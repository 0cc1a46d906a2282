// LoRA: a large network is taught by small adapters beside the weights of its layers, while its own
// parameters stay (Hu et al. 2021, "LoRA: Low-rank adaptation of large language models").
//   nn::add_lora(net, {"q_proj", "v_proj"}, {.rank = 8});
//   optim::AdamW adam(net.trained_parameters(), {.lr = 1e-4});          // then train
//   io::write_safetensors("adapter.safetensors", nn::lora_state(net));  // a few megabytes
//   nn::merge_lora(net);                                                // now a plain network
// And in another program, to a network like that one was at first:
//   nn::load_lora(net, io::load_state("adapter.safetensors").tensors);
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

// Freezes the network, but for adapters of an earlier call, and gives an adapter to each layer that one of
// `names` means: its whole name, or the end of it after a dot, so that "q_proj" is that of each block. Layers
// that may have one are LoraLayers: Linear, MultiheadAttention ("self_attn" is the projection of queries,
// keys and values, "out_proj" a Linear of its own), and GPT-2's Conv1D. Returns their whole names. At first
// the network computes what it did. To train more, the head for example, call requires_grad(true, "head")
// afterwards. Throws ConfigError, listing the layers, for a name that means none, and as
// LoraLayer::add_lora(); then nothing has changed.
std::vector<std::string> add_lora(Module& network, const std::vector<std::string>& names,
                                  const LoraOptions& options = {}, Rng& rng = default_rng());
// The adapters, "lora_A", "lora_B" and "lora_alpha" of each layer, sharing memory.
NamedTensors lora_state(const Module& network);
// Gives the network the adapters of such a state, with its ranks and alphas, and freezes the rest as
// add_lora() does. A layer that has an adapter of this rank takes the values. Throws ConfigError for names
// that are no adapter's, layers that the network does not have, and tensors that are missing or do not fit;
// then nothing has changed.
void load_lora(Module& network, const NamedTensors& adapters);
// Adds each adapter to its layer's weight and drops it: the network computes the same, without extra work.
// What was frozen stays frozen.
void merge_lora(Module& network);

}  // namespace veldt::nn
