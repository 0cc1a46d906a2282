// Batch norms that become a part of the layer before them.
// Tests: tests/compress/quantize_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/nn/module.h"

namespace veldt::compress {

// A batch norm and the convolution or linear layer whose result it takes.
struct FoldedNorm {
  std::string layer, norm;
};

// In evaluation a batch norm multiplies and adds fixed numbers (Jacob et al. 2018, section 3.2): they become
// the weight and bias of the layer before it, and the norm does nothing any more. Pairs are found by calling
// `network` with `example`; if its result then differs by more than rounding does, as when a layer's result
// is used twice, none is folded. The network is in evaluation.
std::vector<FoldedNorm> fold_batch_norms(nn::Module& network, const Tensor& example);

// The same form, without the numbers, for load_state_dict(). Throws ConfigError for names that are no such
// layers.
void expect_folded(nn::Module& network, const std::vector<FoldedNorm>& pairs);

}  // namespace veldt::compress
