// A prior: a small convolutional network, trained on pictures, that draws four by four samples for each pixel
// of a picture. A pixel is the mean of the area that it covers, and for any weights the mean of its samples
// is the pixel. docs/prior.md describes how Veldt's own was made.
// Tests: tests/field/prior_test.cpp, tests/fuzz/models.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "veldt/nn/convolution.h"
#include "veldt/nn/module.h"

namespace veldt::field {

struct PriorOptions {
  std::int64_t width = 48;  // channels of the hidden layers, 1 to 128
  std::int64_t depth = 6;   // layers between the first and the last, an even number to 32: two make a block
  bool two_tone = false;    // a pixel is not a mean but black or white, like most of its area
  bool possible() const { return width >= 1 && width <= 128 && depth >= 0 && depth <= 32 && depth % 2 == 0; }
  friend bool operator==(const PriorOptions&, const PriorOptions&) = default;
};

// Each channel of a picture is processed separately. Flat areas stay flat, and the border's pixels extend
// beyond it.
class Prior : public nn::Module {
 public:
  static constexpr std::int64_t kScale = 4;  // samples a pixel, along each side

  // Throws ConfigError for options out of their bounds.
  explicit Prior(PriorOptions options = {}, Rng& rng = nn::default_rng());

  // x [n, 1, h, w] -> [n, 1, 4 h, 4 w]
  Tensor forward(const Tensor& x) const override;
  void fields(nn::Fields& f) override { f("head", head_)("body", body_)("tail", tail_); }
  std::string title() const override;

  const PriorOptions& options() const { return options_; }
  // The largest distance of a pixel that affects a sample.
  std::int64_t reach() const;

 private:
  Tensor detail(const Tensor& x) const;

  PriorOptions options_;
  nn::Conv2d head_;
  std::vector<nn::Conv2d> body_;
  nn::Conv2d tail_;
};

// safetensors of f16 weights. Throws IoError unwritable, and Error if a weight does not fit into f16.
void save_prior(const std::string& path, const Prior& prior, std::map<std::string, std::string> about = {});
// Throws IoError missing, or malformed unless it is a prior with valid sizes and weights; corrupt if it has
// changed since it was written, or has an unknown format.
Prior load_prior(const std::string& path);

// Part of a picture, in its pixels.
struct Window {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};

// The picture, [channels, height, width] f32, at four times its size. It is drawn tile by tile, in memory
// that does not grow with it, on all threads; the result does not depend on threads or tiles. `turns`, 1, 4
// or 8: the mean of the prior's drawings for the picture rotated by quarter turns, and for 8 also mirrored,
// which takes that many times as long. Throws ShapeError for another rank, dtype or an empty picture,
// ConfigError for other turns.
Tensor redraw(const Prior& prior, const Tensor& pixels, int turns = 1);
// The same samples only for a window: [channels, 4 window.height, 4 window.width]. All tiles that it touches
// are drawn completely, so bands of a multiple of kRedrawTile rows waste no work. Throws ShapeError for a
// window that is empty or not within the picture.
Tensor redraw(const Prior& prior, const Tensor& pixels, const Window& window, int turns = 1);
inline constexpr std::int64_t kRedrawTile = 96;

}  // namespace veldt::field
