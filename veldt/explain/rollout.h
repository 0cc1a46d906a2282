// Which tokens a transformer's outputs attend to, through all of its layers.
// Tests: tests/explain/rollout_test.cpp, tests/explain/peers_test.cpp
#pragma once

#include <vector>

#include "veldt/nn/module.h"

namespace veldt::explain {

// The weights of each attention that the network computes for x, in order: [n, heads, queries, keys], as
// attention_weights() has them, with its masks. The network is in evaluation. None for a network without
// attention.
std::vector<Tensor> attention_maps(const nn::Module& model, const Tensor& x);

// Attention roll-out (Abnar & Zuidema 2020, "Quantifying attention flow in transformers"): the product of all
// layers' weights, each the mean over its heads, half of it the identity for the residual connection. [n,
// tokens, tokens]: row i says what token i of the output is made of, and adds up to 1. It knows no target and
// nothing of values. Throws ConfigError for a network without attention, and for one that attends to anything
// but the tokens themselves.
Tensor attention_rollout(const nn::Module& model, const Tensor& x);

}  // namespace veldt::explain
