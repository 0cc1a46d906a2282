// Test-time augmentation: a picture is judged by the mean of what a network says of several views of it.
// Tests: tests/recipe/views_test.cpp
#pragma once

#include "veldt/nn/module.h"
#include "veldt/recipe/recipe.h"

namespace veldt::recipe {

// The network's outputs for pictures [n, channels, height, width]. In evaluation, the mean over the views
// that data.test_time_augment names: the picture and its mirror image; of multi_crop (Jordan 2024) also both
// moved by a pixel, down and right, and up and left, with half the weight, and edges reflected.
Tensor outputs_of(const Recipe& recipe, const nn::Module& network, const Tensor& pictures);

}  // namespace veldt::recipe
