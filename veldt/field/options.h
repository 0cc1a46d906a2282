// The options of a neural field: everything that a model file needs so that the field can be drawn.
// Tests: tests/field/options_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/field/encoding.h"

namespace veldt::field {

// The activation of the hidden layers, with its initialisation (notes in docs/fields.md).
enum class Activation : std::uint8_t { siren, finer, tanh, relu, gauss, wire };

// The choices of `veldt fit --model`: an activation on the coordinates themselves, or relu on features of
// them.
enum class Model : std::uint8_t { siren, finer, tanh, relu, gauss, wire, fourier, hashgrid };

// The meaning of the last layer's output y. clamp: level = (y + 1) / 2, clamped to 0..1. sigmoid: level = 1 /
// (1 + exp(-y)). ink: 1 minus the sigmoid, so that 1 means black, as in the original recipe. plain: y itself,
// for sounds.
enum class Head : std::uint8_t { clamp, sigmoid, ink, plain };

// The position of pixel i of N. centres: 2 (i + 0.5) / N - 1, the longer side spanning -1..1. corners: i / (N
// - 1), as in the original recipe.
enum class Coordinates : std::uint8_t { centres, corners };

struct FieldOptions {
  Activation activation = Activation::finer;
  std::vector<std::int64_t> widths = {128, 128, 128, 128};  // units of each hidden layer
  int dimensions = 2;         // of a position: 2 in a picture, 1 in a sound, 3 in a clip (x, y and time)
  std::int64_t channels = 1;  // 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA; of a sound mono, stereo ..
  double first_omega = 60;  // of the first layer (siren, finer); gauss: its scale; tanh: of its first weights
  double omega = 30;        // of the other hidden layers; tanh: of their first weights
  double scale = 3;         // wire: of the window of each hidden layer
  std::vector<EncodingOptions> encodings = {};  // of the coordinates, side by side; none: as they are
  bool bias = true;
  bool constant_input = false;  // one more input, which is always 1
  Head head = Head::clamp;
  Coordinates coordinates = Coordinates::centres;
  // The size of the fitted picture, in pixels. A sound is 1 wide and as high as it has frames.
  std::int64_t width = 0, height = 0;
  std::int64_t rate = 0;  // frames a second; 0 of a picture
  double peak = 1;        // of a sound: the sample that an output of 1 stands for
  // Of a clip, an animated picture: how many frames it was fitted to, which last so long together, and the
  // extent of its time where the longer side spans -1..1: from -time_scale to time_scale, at most 1.
  std::int64_t frames = 1;
  double seconds = 0, time_scale = 0;
  // Samples along each side of a fitted pixel whose mean was compared with it. Above 1 the field is the scene
  // before the camera's box filter, and drawing it at its own size averages the same number.
  int footprint = 1;
  // The scene is black and white, and its greys are edges that a pixel averaged: enlarging draws the edges
  // steeper, because they are thinner than the pixels they were learned from.
  bool two_tone = false;
  // Numbers per pixel and channel of the field's Closing, which makes its means over the fitted pixels, or a
  // sound's frames, exact; 0: there is none.
  int closing = 0;
  int bits = 8;  // of the fitted picture's levels: 8, or 16 if 8 are not enough
  // Pixel art is made of squares of `period` x `period` fitted pixels each: the level at the centre of one is
  // the level of the whole square.
  bool squares = false;
  std::int64_t period = 1;
  // Two colours of `channels` levels each, or none: a fitted pixel has the colour that its mean is nearer to,
  // as in a picture that was reduced to two tones.
  std::vector<std::vector<double>> tones = {};

  bool is_sound() const { return dimensions == 1; }
  bool is_clip() const { return dimensions == 3; }
  // The columns of levels that it was fitted to.
  std::int64_t columns() const { return width / period; }
  std::int64_t rows() const { return height / period; }
  int inputs() const { return dimensions + (constant_input ? 1 : 0); }
  friend bool operator==(const FieldOptions&, const FieldOptions&) = default;
};

std::string_view name_of(Activation);
std::string_view name_of(Model);
std::string_view name_of(Head);
std::string_view name_of(Coordinates);
// Throws ConfigError listing the known names.
Model model_from(std::string_view name);
std::vector<std::string> model_names();
// The activation of the same name; none for a model that is relu on features.
std::optional<Activation> activation_of(Model);
// The model that these options belong to: by the encoding, else by the activation.
Model model_of(const FieldOptions&);
// Whether this field uses first_omega and omega: relu does not, so no model with an encoding does, and the
// original recipe's tanh does not.
bool takes_omega(const FieldOptions&);

// One line of JSON and back. Throws IoError(malformed) for invalid text, because options come from files.
std::string to_json(const FieldOptions&);
FieldOptions field_options_from_json(std::string_view json);

// Throws ConfigError when a size is below 1 or beyond what could be meant (65,536 units, 64 layers).
void check(const FieldOptions&);
// The number of trained numbers, and of those that a file holds: Fourier's frequencies are not trained.
std::int64_t parameter_count(const FieldOptions&);
std::int64_t stored_count(const FieldOptions&);
// The inputs of the first layer, then the units of each layer, including the last one.
std::vector<std::int64_t> layer_sizes(const FieldOptions&);

}  // namespace veldt::field
