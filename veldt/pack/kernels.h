// The steps of learning a packed photograph, row by row, in the instruction set of this machine. Each
// has its formula in codec/networks.h; the gradients are those of the sum of all outputs times what is
// given.
// Tests: tests/pack/learner_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/codec/networks.h"
#include "veldt/pack/plane.h"

namespace veldt::pack {

// How latents are rounded while they are learned. Softly: soft(soft(y) + noise), where soft() is a staircase
// of rounded steps that are the steeper the lower the temperature is (Agustsson and Theis 2020), and the
// noise is nearly normal. Or to integers, which lets no gradient through.
struct Rounding {
  bool soft = true;
  float temperature = 0.3f, noise = 0.2f;
  std::uint32_t seed = 1;
};
// `count` latents, and the derivatives of what they are rounded to.
void round_latents(const float* latents, float* rounded, float* slopes, std::int64_t count,
                   const Rounding& how, std::uint32_t row);

// A level's latents and their contexts, rounded; the gradients in the second half. Gradients of rows beside
// the band of rows that is worked on go to planes of their own.
struct LevelRows {
  const Plane *own, *parent, *grandparent;  // the coarser levels' latents, repeated to this level's size
  Plane *d_own = nullptr, *d_parent = nullptr, *d_grandparent = nullptr;
};
struct BandGradients {
  explicit BandGradients(Size level)
      : own({level.width, 3}), above({level.width, 1}), below({level.width, 1}) {}

  Plane own;           // of d_own, three rows above the band
  Plane above, below;  // of d_parent, a row to each side
};
// The bits of the rows y0 to y1. With `beside`, adds the gradients of bits * scale to the latents', those
// beside the band to `beside`, and to `gradient`, if there is one, the model's.
double model_rows(const LevelRows& rows, std::int64_t y0, std::int64_t y1,
                  const codec::ContextModel<float>& model, float scale, codec::ContextModel<float>* gradient,
                  BandGradients* beside);

// A row at twice the size of a level by a filter w[codec::kUpsampling], and its adjoint in two steps, of
// which the second adds.
void upsample_row(const Plane& coarse, std::int64_t y, const float* w, float* line, Plane& fine);
void upsample_adjoint_row(const Plane& d_fine, std::int64_t y, const float* w, std::vector<float>& lines,
                          Plane& d_wide);
void upsample_adjoint_column(const Plane& d_wide, std::int64_t fine_height, std::int64_t y, const float* w,
                             Plane& d_coarse);
// Adds what row y gives to the gradient of the filter, after upsample_adjoint_row().
void upsample_filter_gradient(const Plane& coarse, const Plane& d_fine, const Plane& d_wide, std::int64_t y,
                              const float* w, float* line, float* sums);

// The two layers of the synthesis.
void colour_rows(const std::vector<Plane>& features, std::int64_t y0, std::int64_t y1,
                 const codec::Synthesis<float>& network, std::vector<Plane>& colours);
void colour_gradient_rows(const std::vector<Plane>& features, std::int64_t y0, std::int64_t y1,
                          const codec::Synthesis<float>& network, const std::vector<Plane>& d_colours,
                          std::vector<Plane>& d_features, codec::Synthesis<float>* gradient);

// Its convolutions. repeat_edges() before each.
void repeat_edges(std::vector<Plane>& planes);
void detail_rows(const std::vector<Plane>& colours, std::int64_t y0, std::int64_t y1,
                 const codec::Synthesis<float>& network, std::vector<Plane>& detail);
void close_rows(const std::vector<Plane>& colours, const std::vector<Plane>& detail, std::int64_t y0,
                std::int64_t y1, const codec::Synthesis<float>& network, std::vector<Plane>& out);
// The gradients have zeros beside the picture. `gradient` may be null.
void close_gradient_rows(const std::vector<Plane>& detail, const std::vector<Plane>& d_out, std::int64_t y0,
                         std::int64_t y1, const codec::Synthesis<float>& network,
                         std::vector<Plane>& d_detail, codec::Synthesis<float>* gradient);
void detail_gradient_rows(const std::vector<Plane>& colours, const std::vector<Plane>& d_detail,
                          const std::vector<Plane>& d_out, std::int64_t y0, std::int64_t y1,
                          const codec::Synthesis<float>& network, std::vector<Plane>& d_colours,
                          codec::Synthesis<float>* gradient);

// The sum of squared differences of a row, and their gradient 2 * scale * difference.
double difference_row(const float* out, const float* target, float* d_out, std::int64_t count, float scale);

// A step of Adam.
struct AdamStep {
  float rate, beta1, beta2, correction1, correction2, epsilon;
};
// Of latents, whose gradient is d_rounded * slopes.
void adam_row(float* latents, float* mean, float* square, const float* d_rounded, const float* slopes,
              std::int64_t count, const AdamStep& step);

}  // namespace veldt::pack
