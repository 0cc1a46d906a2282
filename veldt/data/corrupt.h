// Corruptions of pictures, f32 [channels, height, width] in 0..1, each of one strength: how well does a
// network do on pictures that are worse than those it learned from? After Hendrycks & Dietterich 2019
// (ImageNet-C). They are transforms for a Loader like those of augment.h, whose gaussian_noise() is one too;
// only direction and place are drawn.
// Tests: tests/data/corrupt_test.cpp, tests/app/corrupt_test.cpp
#pragma once

#include <cstdint>

#include "veldt/data/loader.h"

namespace veldt::data {

// Moved by so many pixels in a random direction, rounded to whole pixels; 0 where it came from. Throws
// ConfigError below 0.
Transform shift(std::int64_t pixels);
// Turned about the middle by so many degrees, to the left or to the right; bilinear, 0 outside. Throws
// ConfigError beyond 0..180.
Transform rotate(double degrees);
// A square of that side at a random place becomes 0; of a picture that is smaller all of it. Throws
// ConfigError below 1.
Transform erase(std::int64_t side);
// Each level times `factor`, clamped to 0..1: below 1 it is darker. Throws ConfigError below 0.
Transform brightness(double factor);
// Differences from the mean brightness times `factor`, clamped to 0..1. Throws ConfigError below 0.
Transform contrast(double factor);
// Convolved with a normal distribution of that deviation in pixels; beyond the border the nearest pixel goes
// on. Throws ConfigError unless it is above 0 and at most 100.
Transform gaussian_blur(double deviation);
// Encoded as a JPEG of that quality, 1 to 100, and decoded again. Throws ConfigError for another quality;
// when used, ShapeError for pictures of neither 1 nor 3 channels.
Transform jpeg(std::int64_t quality);

}  // namespace veldt::data
