// Pictures that one can see through, by what is seen of them. Alpha alone does not say what an edge is: where
// an edge runs through a pixel and where all of it is half clear, it has the same alpha, and other colours
// beside it.
//
// Pictures are f32 [height, width, channels], the last of 2 or 4 channels alpha.
// Tests: tests/field/transparency_test.cpp, tests/field/kind_test.cpp
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt::field {

inline bool has_alpha(const Tensor& picture) { return picture.size(2) % 2 == 0; }

// Its colours over black and over white: [height, width, 2 (channels - 1)].
Tensor on_two_grounds(const Tensor& picture);
// The alpha of what is seen so: [height, width, 1].
Tensor alpha_of(const Tensor& seen);

}  // namespace veldt::field
