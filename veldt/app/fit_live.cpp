// Small pictures of fields and signals for a page.
#include "veldt/app/fit_live.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "veldt/app/field_pixels.h"
#include "veldt/core/size.h"
#include "veldt/field/reasons.h"
#include "veldt/live/looks.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::app {
namespace {

constexpr double kShownSide = 384, kLeastShown = 160;
constexpr double kSecondsAPicture = 0.03;

// Never enlarged: the page does that.
Size shown_size(std::int64_t width, std::int64_t height, double most) {
  const std::int64_t side = std::min<std::int64_t>(std::max(width, height), std::llround(most));
  return fitted_into({side, side}, width, height);
}

// One sample a pixel: of a large picture the mean over areas would take as long as all of it.
Tensor picture_of(const field::Field& field, double side) {
  const NoGrad off;
  std::vector<Tensor> bands;
  field.render_bands(shown_size(field.options().width, field.options().height, side), {.supersample = 1},
                     [&bands](const Tensor& rows, std::int64_t) {
                       bands.push_back(rows);
                       return true;
                     });
  return bands.size() == 1 ? bands[0] : cat(bands, 0);
}

// The frame of a clip that is nearest to its middle, which is what its field draws unless told otherwise.
std::int64_t moment_of(const field::Signal& truth) {
  std::int64_t best = 0;
  for (std::int64_t f = 1; f < truth.frames(); ++f)
    if (std::fabs(truth.time_of(f) - 0.5) < std::fabs(truth.time_of(best) - 0.5)) best = f;
  return best;
}

// The same pixels of the truth.
Tensor picture_of(const field::Signal& truth) {
  const NoGrad off;
  const std::int64_t height = truth.rows_a_frame(), first = moment_of(truth) * height;
  const Size size = shown_size(truth.columns(), height, kShownSide);
  const auto nearest = [](std::int64_t i, std::int64_t of, std::int64_t all) {
    return std::min(all - 1, (2 * i + 1) * all / (2 * of));
  };
  std::vector<std::int64_t> columns;
  for (std::int64_t x = 0; x < size.width; ++x) columns.push_back(nearest(x, size.width, truth.columns()));
  const Tensor chosen = Tensor::from<std::int64_t>({size.width}, columns);
  std::vector<Tensor> rows;
  for (std::int64_t y = 0; y < size.height; ++y)
    rows.push_back(index_select(truth.read(first + nearest(y, size.height, height), 1), 1, chosen));
  return cat(rows, 0);
}

// A part of a sound, small enough to see how it is learned.
struct Excerpt {
  std::int64_t first = 0, count = 0;
};

// Around its loudest frame.
Excerpt excerpt_of(const field::Signal& sound) {
  constexpr std::int64_t kMostFrames = 768, kBlock = 1 << 16;
  const std::int64_t frames = sound.rows(), count = std::min(frames, kMostFrames);
  float loudest = -1;
  std::int64_t at = 0;
  for (std::int64_t first = 0; first < frames; first += kBlock) {
    const Tensor block = sound.read(first, std::min(kBlock, frames - first));
    const float* const levels = block.data<float>();
    for (std::int64_t i = 0; i < block.numel(); ++i)
      if (std::fabs(levels[i]) > loudest) {
        loudest = std::fabs(levels[i]);
        at = first + i / sound.channels();
      }
  }
  return {std::clamp<std::int64_t>(at - count / 2, 0, frames - count), count};
}

// The first channel of frames [n, 1, channels], -1..1, as a dark line on white [height, width, 1].
Tensor waveform(const Tensor& frames) {
  constexpr std::int64_t kWidth = 768, kHeight = 192;
  const std::int64_t n = frames.size(0), channels = frames.numel() / n;
  const float* const levels = frames.data<float>();
  const auto row = [&](std::int64_t x, std::int64_t part) {  // `part`: 0 or 1, where a column begins and ends
    const double at = static_cast<double>((x + part) * (n - 1)) / kWidth, share = at - std::floor(at);
    const auto frame = static_cast<std::int64_t>(at);
    const double level =
        (1 - share) * levels[frame * channels] + share * levels[std::min(frame + 1, n - 1) * channels];
    return std::isfinite(level) ? (1 - std::clamp(level, -1.0, 1.0)) / 2 * (kHeight - 1) : kHeight / 2.0;
  };
  const Tensor picture = full({kHeight, kWidth, 1}, 1);
  float* const pixels = picture.data<float>();
  for (std::int64_t x = 0; x < kWidth; ++x) {
    const auto [top, bottom] = std::minmax({row(x, 0), row(x, 1)});
    for (std::int64_t y = 0; y < kHeight; ++y) {  // a line two pixels thick, with soft ends
      const double off = std::max(top - static_cast<double>(y), static_cast<double>(y) - bottom) - 0.5;
      pixels[y * kWidth + x] = static_cast<float>(std::clamp(off, 0.0, 1.0));
    }
  }
  return picture;
}

void show_sound(LiveRun& live, const field::Fitter& fitter, const field::Signal& sound) {
  const Excerpt part = excerpt_of(sound);
  live.add_picture("truth", 0, waveform(sound.read(part.first, part.count)));
  const auto frames = static_cast<double>(sound.rows());
  live.set_facts("data",
                 {{"waveform", fmt::format("{:.3f} to {:.3f} s, around the loudest moment",
                                           static_cast<double>(part.first) / sound.rate(),
                                           static_cast<double>(part.first + part.count) / sound.rate())}});
  live.draws([&fitter, part, frames](bool) {
    std::vector<Tensor> bands;
    const field::Region region{.y = static_cast<double>(part.first) / frames,
                               .height = static_cast<double>(part.count) / frames};
    fitter.field().render_bands({1, part.count}, {.region = region, .supersample = 1},
                                [&bands](const Tensor& rows, std::int64_t) {
                                  bands.push_back(rows);
                                  return true;
                                });
    return waveform(bands.size() == 1 ? bands[0] : cat(bands, 0));
  });
}

}  // namespace

void show_fit(LiveRun& live, const field::Fitter& fitter, const field::Signal& truth,
              std::function<void()> save) {
  if (!live.is_on()) return;
  std::vector<std::pair<std::string, std::string>> choices;
  for (const field::Reason& r : field::reasons_of(fitter.choices()))
    choices.emplace_back(r.choice, r.why.empty() ? r.value : fmt::format("{} ({})", r.value, r.why));
  live.set_facts("choices", choices);
  live.board().change([&](live::Record& record) {
    record.device = name_of(fitter.choices().device.kind);
    record.layers = live::layers_of(fitter.field().network());
  });
  live.saves(std::move(save));
  if (truth.is_sound()) return show_sound(live, fitter, truth);
  if (truth.ranks() == nullptr) live.add_picture("truth", 0, picture_of(truth));
  // As large as a moment allows, judged by the last one.
  live.draws([&fitter, side = kLeastShown](bool is_last) mutable {
    const auto before = std::chrono::steady_clock::now();
    const Tensor picture = picture_of(fitter.field(), is_last ? kShownSide : side);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    side = std::clamp(side * std::sqrt(kSecondsAPicture / std::max(took.count(), 1e-6)), kLeastShown,
                      kShownSide);
    return picture;
  });
}

void show_score(LiveRun& live, const FitScore& score, bool is_sound) {
  train::Scores scores{{is_sound ? "SNR" : "PSNR", score.decibels}};
  if (!is_sound) scores.emplace_back("SSIM", score.ssim);
  if (score.wrong_pixels) scores.emplace_back("wrong pixels", static_cast<double>(*score.wrong_pixels));
  if (score.expected_gain) scores.emplace_back("expected gain", *score.expected_gain);
  live.set_scores(scores);
}

}  // namespace veldt::app
