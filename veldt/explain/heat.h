// Explanations for people: a picture with its heat and a legend, and coloured tokens.
// Tests: tests/explain/heat_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::explain {

struct HeatOptions {
  // Heat has two directions: red speaks for the output, blue against it. Otherwise it grows from 0, dark,
  // over purple and orange to yellow.
  bool is_signed = false;
  bool smooth = false;  // between the numbers of a coarse heat, such as a class activation map
  double share = 0.99;  // of the magnitudes that the colours tell apart; the rest are as strong
  std::vector<std::string> lines =
      {};                          // above the pictures: capitals, digits and the signs . , : ; % + - ( )
  std::int64_t longer_side = 336;  // of each of the two pictures, in pixels, at least the picture's own
};

// [height, width, 3] in 0..1: the lines (what is too long has ".." for its middle), the picture, the same
// with the heat over it, and below them the scale of the colours with its numbers. `picture`: floats [h, w, 1
// or 3] in 0..1; `heat`: floats of any size [h, w], stretched over it. Throws ShapeError for others,
// ConfigError for heat that is not finite.
Tensor heat_picture(const Tensor& picture, const Tensor& heat, const HeatOptions& options = {});

// The numbers of an input's heat, [1, channels, h, w], as those of its pixels, [h, w]: what the channels add
// up to if it has signs, else the largest.
Tensor pixel_heat(const Tensor& attributions, bool is_signed);

// A text in parts, and how much each speaks for the output, with its sign.
using TokenHeat = std::vector<std::pair<std::string, double>>;

// For a terminal of 256 colours: each token on red or blue of a strength by its share of the largest
// magnitude. Control characters are escaped, so that the text cannot control the terminal.
std::string tokens_for_terminal(const TokenHeat& tokens);
// A whole page that loads nothing, with the scale below the text and each token's number where the mouse
// rests on it. `title` and tokens are escaped.
std::string tokens_html(const TokenHeat& tokens, const std::string& title);

}  // namespace veldt::explain
