// A drawing on several ranks: each draws its share of the bands, and rank 0 gets all of them in their order.
// No rank holds more than a few bands.
//   field::share_bands(
//       ranks,
//       [&](const field::BandShare& share, const field::Field::Band& band) {
//         field.render_bands(size, {.share = share}, band);
//       },
//       [&](const Tensor& rows, std::int64_t first) { return write(rows), true; });
// Tests: tests/field/shared_bands_test.cpp
#pragma once

#include <functional>

#include "veldt/dist/communicator.h"
#include "veldt/field/field.h"

namespace veldt::field {

using DrawShare = std::function<void(const BandShare& share, const Field::Band& band)>;

// All ranks call it, with a `draw` that draws the same thing. `take` is called on rank 0 alone, as
// Field::render_bands() does; returning false ends it on all. So does `asked`, called after each band, on any
// rank. False if it ended before its end.
bool share_bands(dist::Communicator& ranks, const DrawShare& draw, const Field::Band& take,
                 const std::function<bool()>& asked = {});

}  // namespace veldt::field
