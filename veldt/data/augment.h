// Random changes to pictures, f32 [channels, height, width], made while batches are loaded: transforms for a
// Loader. Each changes only the first tensor of an example, and draws the same numbers for the same example
// of the same epoch. Names and defaults are those of torchvision.transforms.
// Tests: tests/data/augment_test.cpp
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "veldt/core/size.h"
#include "veldt/data/loader.h"
#include "veldt/ops/arrange.h"

namespace veldt::data {

// Applies them in order.
Transform sequence(std::vector<Transform> transforms);
// With probability p, else nothing. Throws ConfigError for p outside of 0..1.
Transform maybe(double p, Transform transform);

// A part of that size at a random place of the picture with `padding` pixels around it: zeros, or as `mode`
// says. Throws ConfigError for a size below 1; when used, ShapeError for a picture that is too small.
Transform random_crop(Size size, std::int64_t padding = 0, PadMode mode = PadMode::zeros);

struct ResizedCropOptions {
  std::pair<double, double> area = {0.08, 1};            // of the picture
  std::pair<double, double> ratio = {3.0 / 4, 4.0 / 3};  // of width to height
};
// A random part, resized to that size (Szegedy et al. 2015). Tries ten times to find one that fits, then
// takes the middle.
Transform random_resized_crop(Size size, ResizedCropOptions options = {});

Transform horizontal_flip(double p = 0.5);
Transform vertical_flip(double p = 0.5);

struct AffineOptions {
  double degrees = 0;                        // turned by -degrees..degrees, counter-clockwise
  double translate = 0;                      // moved by -translate..translate of its sides
  std::pair<double, double> scale = {1, 1};  // enlarged by
  double shear = 0;                          // -shear..shear degrees along x
  double fill = 0;                           // the value outside of the picture
};
// About the middle, bilinear. Throws ConfigError for ranges that are empty or not finite.
Transform random_affine(AffineOptions options);
Transform random_rotation(double degrees, double fill = 0);

struct JitterOptions {
  double brightness = 0, contrast = 0, saturation = 0;  // factors of 1 - x .. 1 + x, not below 0
  double hue = 0;                                       // turned by -hue..hue of the circle, at most 0.5
};
// Each in this order. Grey pictures have neither saturation nor hue. Results are clamped to 0..1.
Transform colour_jitter(JitterOptions options);

struct ErasingOptions {
  double p = 0.5;
  std::pair<double, double> area = {0.02, 0.33}, ratio = {0.3, 3.3};
  double value = 0;
};
// A random rectangle becomes `value` (Zhong et al. 2017).
Transform random_erasing(ErasingOptions options = {});

// Normal noise of that deviation.
Transform gaussian_noise(double deviation);

// To that size, bilinear, whatever its proportion was; clamped to 0..1. Throws ConfigError for a size
// below 1.
Transform resize(Size size);

// (x - mean) / deviation, channel by channel. Throws ConfigError for a deviation of 0 or lists of different
// lengths; when used, ShapeError for another number of channels.
Transform normalise(std::vector<double> mean, std::vector<double> deviation);

}  // namespace veldt::data
