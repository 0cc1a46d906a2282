// Transparent pictures, by their appearance. Alpha alone does not define an edge: a pixel crossed by an edge
// and one that is half transparent have the same alpha but different neighbours.
//
// Pictures are f32 [height, width, channels], the last of 2 or 4 channels alpha.
// Tests: tests/field/transparency_test.cpp, tests/field/kind_test.cpp
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt::field {

inline bool has_alpha(const Tensor& picture) { return picture.size(2) % 2 == 0; }

// Its colours over black and over white: [height, width, 2 (channels - 1)].
Tensor on_two_grounds(const Tensor& picture);
// The alpha of a picture that looks like this: [height, width, 1].
Tensor alpha_of(const Tensor& seen);

}  // namespace veldt::field
