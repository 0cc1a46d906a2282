// The latents of one photograph while they are learned: what a file of them would cost and how far its
// pixels would be off, the gradients of both, and the optimizer's steps.
// Tests: tests/pack/learner_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "veldt/codec/latents.h"
#include "veldt/codec/networks.h"
#include "veldt/pack/kernels.h"
#include "veldt/pack/plane.h"

namespace veldt::pack {

struct Cost {
  double bits = 0;          // of all latents
  double square_error = 0;  // the mean over all pixels' channels, of 1 for white
};

// The loss is square_error + lambda * bits / pixels.
class Learner {
 public:
  // Colours [height][width][3] as along_axes() of colours.h gives them. All latents begin at 0.
  Learner(Size size, std::span<const float> colours);

  // Another picture of this size.
  void look_at(std::span<const float> colours);

  Size size() const { return size_; }
  // A level's latents row by row, as many as the level has; and their gradients, as differentiate() computed
  // them last with soft rounding.
  void begin_with(int level, std::span<const float> latents);
  std::vector<float> gradient(int level) const;
  double pixels() const { return static_cast<double>(size_.width) * static_cast<double>(size_.height); }
  // The cost of what the latents are rounded to. The same bits on any number of threads.
  Cost measure(const codec::Networks<float>& networks, const Rounding& how);
  // And the gradients of the loss: the latents' are kept for update(), the networks' are added to `gradient`
  // if there is one.
  Cost differentiate(const codec::Networks<float>& networks, const Rounding& how, double lambda,
                     codec::Networks<float>* gradient);
  // Of the latents as measure() rounded them last: the bits of a model's levels, and the error of a
  // synthesis.
  double bits_again(int model, const codec::ContextModel<float>& network);
  double error_again(const codec::Synthesis<float>& network);
  // A step of Adam, at a rate of `rate` for level 0, twice that for level 1 and so on up to sixteen times; in
  // steps of the latents.
  void update(double rate, double lambda);
  // The latents rounded to integers.
  codec::Pyramid rounded() const;

 private:
  struct Level {
    explicit Level(Size size);

    Size size;
    Plane latents, mean, square;       // and Adam's averages
    Plane rounded, slopes, d_rounded;  // what they are rounded to
    Plane parent, grandparent;         // the coarser levels' at this size
    Plane d_parent, d_grandparent;
    std::vector<Plane> features, d_features;  // of this level and the coarser ones, at this size
    Plane wide;                               // for the adjoint of upsampling to this level, half as wide
  };

  void round(const Rounding& how, const codec::Synthesis<float>& network);
  double level_model(std::size_t level, const codec::ContextModel<float>& model);
  double level_model_gradient(std::size_t level, const codec::ContextModel<float>& model, float scale,
                              codec::ContextModel<float>* gradient);
  double synthesis(const codec::Synthesis<float>& network);
  void synthesis_gradient(const codec::Synthesis<float>& network, codec::Synthesis<float>* gradient);
  void upsample(const codec::Synthesis<float>& network);
  void upsample_adjoint(const codec::Synthesis<float>& network, codec::Synthesis<float>* gradient);

  Size size_;
  std::vector<Level> levels_;
  std::vector<Plane> target_, colours_, detail_, out_, d_out_, d_detail_, d_colours_;
  using Filters = std::array<std::array<float, codec::kUpsampling>, codec::kLevels - 1>;
  static Filters filters_of(const codec::Synthesis<float>& network);
  Filters filters_{};  // of the features as they are
  std::int64_t updates_ = 0;
};

}  // namespace veldt::pack
