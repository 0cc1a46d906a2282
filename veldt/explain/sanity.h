// Whether an explanation looks at the network at all.
// Tests: tests/explain/sanity_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "veldt/nn/module.h"

namespace veldt::explain {

// Heat of any shape, always the same one.
using Explanation = std::function<Tensor(const nn::Module& model)>;

struct SanityOptions {
  std::int64_t draws = 3;   // of the random weights; the correlations are means over them
  std::int64_t stages = 8;  // at most; the layers are spread evenly over them
  std::uint64_t seed = 1;
};

struct SanityStage {
  std::string layer;            // the one nearest to the input whose weights are random by now
  double rank_correlation = 0;  // of the heat's magnitudes with those of the trained network: 1 is the same
};

struct SanityReport {
  std::vector<SanityStage> stages;  // from the output to the input
  // With all weights random.
  double last() const { return stages.back().rank_correlation; }
  // With those of the half nearer to the output random, or of the next stage more where there is no half.
  double half() const { return stages[(stages.size() - 1) / 2].rank_correlation; }
  // A heat whose magnitudes rank as before, although nothing is left of what the network has learned, shows
  // the picture's edges, and not the network.
  bool looks_at_the_network() const { return last() < kSame; }
  // One that changes only with the first layers shows what they respond to, such as edges, and not what
  // decided the answer.
  bool looks_at_the_upper_layers() const { return half() < kSame; }
  static constexpr double kSame = 0.5;
};

// Randomises the weights of one layer after the other, from the last to the first, and explains each time
// what is left (Adebayo et al. 2018, "Sanity checks for saliency maps", cascading randomisation; Spearman's
// rank correlation of magnitudes). New weights are normal, with the mean and deviation that each tensor had.
// `model` has its own weights again afterwards, also after an exception. Throws ConfigError for a network
// without parameters, for less than one draw or stage, and for a heat of the trained network whose magnitudes
// are all the same, which ranks nothing.
SanityReport randomisation_check(const nn::Module& model, const Explanation& explain,
                                 const SanityOptions& options = {});

// Spearman's rank correlation of two tensors with as many numbers: the correlation of their ranks, of equal
// numbers the mean rank. 0 where one of them is constant, 1 where both are. Throws ShapeError for different
// numbers of them, ConfigError for one that is not finite.
double rank_correlation(const Tensor& a, const Tensor& b);

}  // namespace veldt::explain
