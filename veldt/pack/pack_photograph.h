// A picture as the body of a packed photograph: latents and networks are learned against the size of
// the file and the error of its pixels.
// Tests: tests/pack/pack_photograph_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "veldt/core/function_ref.h"
#include "veldt/core/size.h"

namespace veldt::pack {

inline constexpr double kLeastBits = 0.01, kMostBits = 8, kLeastPsnr = 20, kMostPsnr = 60;

struct PhotographOptions {
  // Of the whole body, kLeastBits to kMostBits. What is learned is steered towards it, and ends near it:
  // bench/RESULTS.md has how near. Very small pictures and few steps take more.
  double bits_a_pixel = 0.5;
  // If given: so many dB, kLeastPsnr to kMostPsnr, in as few bits as that takes, and bits_a_pixel does not
  // count.
  std::optional<double> psnr = {};
  std::int64_t steps = 3000;  // of learning
  std::uint32_t seed = 1;
};

// Throws ConfigError for options out of range.
void check_options(const PhotographOptions& options);

// After a step of learning, or, in place of that, after rows of a drawing's exact pixels. Step 0 comes a few
// times while a photograph is looked at, which takes as long as some ten steps.
struct PackProgress {
  std::int64_t step = 0, steps = 0;
  double bits_a_pixel = 0, psnr = 0;  // as they are estimated then
  bool exact = false;                 // the steps are rows
};

struct PackedPhotograph {
  std::string body;
  double psnr = 0;  // of its pixels, in dB; infinity if they are exact
};

// `pixels` are bytes [height][width][3]. Ends early if `heard` returns false, with what is learned by then.
// The same options are the same bytes on any number of threads of the same machine. Throws ConfigError for
// options out of range.
PackedPhotograph pack_photograph(
    Size size, const std::vector<std::uint8_t>& pixels, const PhotographOptions& options = {},
    FunctionRef<bool(const PackProgress&)> heard = [](const PackProgress&) { return true; });

}  // namespace veldt::pack
