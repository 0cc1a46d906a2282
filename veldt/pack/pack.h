// A picture as a packed file: the family that suits it, and its options.
// Tests: tests/pack/pack_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/codec/packed_file.h"
#include "veldt/core/function_ref.h"
#include "veldt/pack/pack_photograph.h"
#include "veldt/tensor/tensor.h"

namespace veldt::pack {

enum class Wanted : std::uint8_t {
  // A drawing if that takes no more than was asked for, or no more than the photograph does. Tried are
  // small pictures, those of few colours, those whose pixels mostly repeat, and those with alpha.
  automatic,
  photograph,
  exact,  // a drawing, however large the file
};

struct PackOptions {
  Wanted wanted = Wanted::automatic;
  PhotographOptions photograph = {};
};

struct Packed {
  std::string bytes;  // of the file
  codec::Family family = codec::Family::photograph;
  double psnr = 0;  // in dB; infinity if the pixels are exact
};

// `picture` is u8 [height, width, channels]. Ends early, with what is learned by then, if `heard` returns
// false; exact pixels go to their end, unless it throws. The colours of pixels that are clear are not kept in
// a photograph. Throws ShapeError for another tensor; ConfigError for options out of range.
Packed pack(
    const Tensor& picture, const PackOptions& options = {},
    FunctionRef<bool(const PackProgress&)> heard = [](const PackProgress&) { return true; });

}  // namespace veldt::pack
