// Draws a fitted field once more, and measures how much it differs from the original.
#include "veldt/app/score.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "veldt/app/progress_line.h"
#include "veldt/app/two_tones.h"
#include "veldt/field/shared_bands.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/train/picture_scores.h"

namespace veldt::app {
namespace {

// Decibels with one digit after the point; 0 is +0.
double rounded_score(double decibels) { return std::round(10 * decibels) / 10 + 0.0; }

field::DrawShare shares_of(const Drawing& drawing) {
  return [&drawing](const field::BandShare& share, const field::Field::Band& band) {
    drawing.bands(band, share);
  };
}

}  // namespace

void help_to_score(const field::Field& field, const field::Signal& signal, dist::Communicator& ranks) {
  NoGrad off;
  Drawing drawing(field);
  for (std::int64_t frame = 0; frame < signal.frames(); ++frame) {
    drawing.set_time(signal.time_of(frame));
    field::share_bands(ranks, shares_of(drawing), {});
  }
}

std::string FitScore::in_words(bool is_sound) const {
  const std::string quality =
      fmt::format("{} {}", is_sound ? "SNR" : "PSNR",
                  decibels == INFINITY ? "inf (identical)" : fmt::format("{:.2f} dB", decibels));
  if (is_sound) return quality;
  std::string text = fmt::format("at its own size {}, SSIM {:.4f}", quality, ssim);
  if (wrong_pixels)
    text += fmt::format(", {} wrong {}", *wrong_pixels, *wrong_pixels == 1 ? "pixel" : "pixels");
  if (expected_gain)
    text += fmt::format("\nbetween the pixels about {:+.1f} dB over Lanczos3 (expected)",
                        rounded_score(*expected_gain));
  return text;
}

std::string FitScore::doubt(bool is_chosen) const {
  const double gain = rounded_score(expected_gain.value_or(0));
  if (gain >= 0) return "";
  return fmt::format(
      "is drawn well only at its own size: enlarged it is expected to be worse than Lanczos3 by {:.1f} dB; "
      "{}",
      -gain,
      is_chosen ? "leave out the flags that choose how it is fitted"
                : "enlarge the picture itself, by Lanczos3, or draw this at its own size");
}

void FitScore::describe_in(nlohmann::ordered_json& out, bool is_sound) const {
  out[is_sound ? "snr" : "psnr"] = decibels_in_json(decibels);
  if (!is_sound) out["ssim"] = ssim;
  if (wrong_pixels) out["wrong_pixels"] = *wrong_pixels;
  if (expected_gain) out["expected_gain"] = *expected_gain;
  out["identical"] = decibels == INFINITY;
}

std::optional<FitScore> score_of(const field::Field& field, const field::Signal& signal,
                                 const Context& context, dist::Communicator* ranks,
                                 const std::function<bool()>& stop,
                                 const std::function<void(const Tensor& band)>& also) {
  NoGrad off;
  ProgressLine line({.quiet = context.quiet, .show_after = 2});
  Drawing drawing(field);
  // Two tones, such as black and white: a pixel can be on the wrong side.
  const std::optional<Tensor> tones =
      signal.is_sound() || signal.is_clip() ? std::nullopt : two_tones_of(signal);
  double squared = 0, ssim = 0;
  std::int64_t wrong = 0, begin = 0;
  bool stopped = false;
  std::optional<train::PictureComparison> pictures;
  const auto take = [&](const Tensor& band, std::int64_t first) {
    const std::int64_t rows = band.size(0);
    const Tensor truth = signal.read(begin + first, rows);
    if (also) also(band);
    if (pictures) {
      const Tensor drawn = rounded(to(band, Device{}), signal.bits());
      pictures->add(drawn, truth);
      squared += sum(square(drawn - truth)).item();
      if (tones) wrong += wrong_pixels(drawn, truth, *tones);
    } else if (signal.peak() > 0) {
      squared += sum(square(affine(reshape(band, truth.shape()), 1 / signal.peak(), 0) - truth)).item();
    }
    line.update_rows(begin + first + rows, signal.rows(),
                     drawing.is_sound() ? "measuring frame" : "measuring row");
    stopped = stop && stop();
    return !stopped;
  };
  FitScore out;
  for (std::int64_t frame = 0; frame < signal.frames() && !stopped; ++frame) {
    begin = frame * signal.rows_a_frame();
    drawing.set_time(signal.time_of(frame));
    if (!signal.is_sound())
      pictures.emplace(Size{signal.columns(), signal.rows_a_frame()}, signal.channels());
    if (ranks == nullptr)
      drawing.bands(take);
    else
      field::share_bands(*ranks, shares_of(drawing), take);
    if (stopped || signal.is_sound()) continue;
    const train::PictureScore score = pictures->score();
    out.decibels = score.psnr;
    ssim += score.ssim;
  }
  line.finish();
  if (stopped) return std::nullopt;
  const auto samples = static_cast<double>(signal.points() * signal.channels());
  if (signal.is_sound() || signal.is_clip()) out.decibels = field::decibels(signal, squared / samples);
  out.ssim = ssim / static_cast<double>(signal.frames());
  if (tones) out.wrong_pixels = wrong;
  return out;
}

}  // namespace veldt::app
