// Latents to begin with: a network looks at a picture and says about what learning them from nothing would
// find, which takes thousands of steps. The file does not depend on it: it may change at any time.
// Tests: tests/pack/analysis_test.cpp
#pragma once

#include <array>
#include <string>
#include <vector>

#include "veldt/codec/base_networks.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/module.h"

namespace veldt::pack {

// What codec::base_networks() and the heads were learned at: lambda of learner.h's loss.
inline constexpr std::array<double, codec::kBaseNetworks> kBaseLambdas = {2e-2, 5e-3, 1.2e-3, 3e-4, 7e-5};

// A trunk of convolutions at halves of the picture's size, of which levels 3 to 6 share theirs, and for each
// of the base networks a head a level.
class Analysis : public nn::Module {
 public:
  explicit Analysis(Rng& rng);

  // picture [1, 3, h, w], 0 to 1, h and w multiples of 64 -> of levels 1 to 6 [1, channels, h >> level, w >>
  // level].
  std::vector<Tensor> features(const Tensor& picture) const;
  // Of these, for the networks that begin as base_networks(base): of each level [h >> level, w >> level].
  std::vector<Tensor> latents(const std::vector<Tensor>& features, int base) const;
  void fields(nn::Fields& f) override;

 private:
  nn::Conv2d first_, second_;
  std::vector<nn::Conv2d> down_, colour_, same_;
  std::vector<nn::Conv2d> heads_;
};

// The one that was learned by bench/packing_base.cpp. The library carries it as analysis.base64: the
// parameters in their order, as base64 of f16.
const Analysis& learned_analysis();
std::string to_text(const Analysis& analysis);

}  // namespace veldt::pack
