// Pictures of any size through a network that takes the noise out of those of one size.
// Tests: tests/recipe/denoise_test.cpp, tests/app/train_graphs_test.cpp
#pragma once

#include "veldt/nn/module.h"
#include "veldt/recipe/facts.h"

namespace veldt::recipe {

// The picture, f32 [height, width, channels] in 0..1 or u8, without its noise, f32 in 0..1: the mean of what
// the network makes of tiles that overlap by half, those weighing most whose middle is nearest. Throws
// ShapeError for another form.
// `heard` as in Trained::denoise().
Tensor denoised_picture(const Facts& facts, const nn::Module& model, const Tensor& picture,
                        const RowsHeard& heard = {});

}  // namespace veldt::recipe
