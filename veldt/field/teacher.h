// Fills in between the pixels by rules: a picture at a multiple of its size whose averages over the pixels
// are the pixels. A field learns it, because alone it would invent the details between them.
//
// Pictures are f32 [height, width, channels] with levels 0..1; results [factor height, factor width,
// channels].
// Tests: tests/field/teacher_test.cpp, tests/field/transparency_test.cpp
#pragma once

#include <functional>
#include <optional>

#include "veldt/data/resample.h"
#include "veldt/field/watch.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

// Called after each round of the functions below.
using Round = std::function<bool()>;

// Enlarged by `filter`, then corrected `rounds` times by the enlarged difference of its averages from the
// pixels (Irani and Peleg, "Improving resolution by image registration", 1991). Levels may be slightly
// outside of 0..1. Stops after a round for which the callback returns false.
Tensor back_projected(
    const Tensor& picture, int factor, data::Filter filter, int rounds,
    const Round& round = [] { return true; });

// The redraw with the least total variation, over all channels together, among those in 0..1 whose averages
// are the pixels: flat areas and sharp contours. Found from `start` by the primal-dual iteration of Chambolle
// and Pock, "A first-order primal-dual algorithm for convex problems with applications to imaging", 2011.
Tensor least_variation(
    const Tensor& picture, const Tensor& start, int factor, int rounds,
    const Round& round = [] { return true; });

// `redraw` shifted by one number per pixel, so that its averages are those of the picture.
Tensor with_averages_of(const Tensor& picture, const Tensor& redraw, int factor);

// The mean of the two above, which was better than Lanczos3 on every picture tried; for drawings in greys
// only the first, and for pictures above 65,536 pixels the first with a cubic filter. None if it was stopped.
std::optional<Tensor> redraw_by_rules(const Tensor& picture, int factor, bool is_grey_drawing,
                                      const Watch& watch);

}  // namespace veldt::field
