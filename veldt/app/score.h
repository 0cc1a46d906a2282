// How well a field draws the original, for the last lines of `veldt fit`.
// Tests: tests/app/pieces_test.cpp, tests/app/fit_test.cpp
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "veldt/app/frame.h"
#include "veldt/cli/context.h"
#include "veldt/app/drawing.h"
#include "veldt/dist/communicator.h"
#include "veldt/field/signal.h"

namespace veldt::app {

struct FitScore {
  // PSNR of a picture, rounded to the original's bits per sample; SNR of a sound. Infinite if it is drawn
  // exactly.
  double decibels = 0;
  double ssim = 0;                                // of a picture; of a clip the mean of its frames
  std::optional<std::int64_t> wrong_pixels = {};  // of a picture of two tones
  std::optional<double> expected_gain = {};       // over Lanczos3 between the pixels, in dB

  std::string in_words(bool is_sound) const;
  void describe_in(nlohmann::ordered_json& out, bool is_sound) const;
  // A warning, and what to do, if a redraw is worse than Lanczos3 by 0.1 dB or more as shown; else empty.
  // `is_chosen`: flags changed how it is fitted.
  std::string doubt(bool is_chosen) const;
};

// Draws the whole field band by band, a clip frame by frame, with a progress line if it takes longer than two
// seconds. `also` gets each band. `stop` is called now and then; if it returns true there is no score. With
// `ranks`, which may be null, the others draw their share of the bands: each calls help_to_score() meanwhile.
std::optional<FitScore> score_of(const field::Field& field, const field::Signal& signal,
                                 const Context& context, dist::Communicator* ranks,
                                 const std::function<bool()>& stop,
                                 const std::function<void(const Tensor& band)>& also = {});
void help_to_score(const field::Field& field, const field::Signal& signal, dist::Communicator& ranks);

}  // namespace veldt::app
