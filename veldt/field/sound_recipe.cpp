// The choices that make the fit of a sound good without flags. Measured figures are in docs/fields.md.
#include <algorithm>
#include <cmath>

#include "veldt/field/recipe.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kShort = 1 << 14;  // frames; up to here sines are as good, and better between frames
constexpr double kAim = 4e4;              // power of a sound to that of the error of its grid: 46 dB
constexpr double kMostCells = 0.9;        // for each frame

// The mean square of the second differences to that of the samples: of a wave of w radians a frame, about
// w^4.
double curvature_of(const Signal& sound) {
  const std::int64_t channels = sound.channels(), n = sound.samples().numel();
  const float* at = sound.samples().data<float>();
  double bends = 0, squares = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    squares += static_cast<double>(at[i]) * static_cast<double>(at[i]);
    if (i < 2 * channels) continue;
    const double bend = static_cast<double>(at[i]) - 2.0 * static_cast<double>(at[i - channels]) +
                        static_cast<double>(at[i - 2 * channels]);
    bends += bend * bend;
  }
  return squares > 0 ? bends / squares : 0;
}

// One level with a vertex for each value that a broken line through the sound needs. With vertices h frames
// apart the best one misses the power (h w)^4 / 720 of a wave of w radians a frame (Blu and Unser 1999,
// "Quantitative Fourier analysis of approximation techniques"); twice that is what was left of music
// (docs/fields.md). Near a vertex for each frame those between two frames are free, and what
// is played between frames gets worse.
GridOptions broken_line(const Signal& sound) {
  const auto frames = static_cast<double>(sound.rows());
  const double cells_a_frame = std::min(std::pow(kAim * curvature_of(sound) / 360, 0.25), kMostCells);
  GridOptions grid{.dims = 1, .log2_entries = 30};
  // A feature for each channel, whatever the linear layer makes of them: more than a level has take several.
  const std::int64_t channels = sound.channels();
  grid.levels = static_cast<int>((channels + GridLayout::kMaxFeatures - 1) / GridLayout::kMaxFeatures);
  grid.features = static_cast<int>((channels + grid.levels - 1) / grid.levels);
  grid.coarsest = std::max<std::int64_t>(1, std::llround(frames * cells_a_frame));
  grid.finest = grid.coarsest;
  return grid;
}

void take_grid(FitPlan& p, const Signal& sound, bool wants_layers) {
  p.eps = 1e-15;
  if (wants_layers) {  // they read the levels of set_model(), as those of pictures do
    p.field.widths = {64, 64};
    p.batch = std::min<std::int64_t>(4096, sound.rows());
    p.lr = 1e-2;
    p.steps = 2000;
    return;
  }
  // A layer that mixes the channels, and none before it: they cost time and gain nothing (docs/fields.md).
  p.field.encodings = {broken_line(sound)};
  p.field.widths = {};
  // Shares of the sound, not numbers of frames, so that a vertex is met as often whatever the length.
  p.batch = std::max<std::int64_t>(sound.rows() / 16, std::min<std::int64_t>(1024, sound.rows()));
  p.lr = 3e-2;
  p.steps = 480;
}

// Positions span -1..1 whatever the length, and a sound has its pitch by the second: the first layer draws
// from -450 to 450 Hz, and the others make its overtones. Sitzmann et al. 2020 do the same by stretching
// positions to -100..100. A weight of it that moves by the rate turns the phase of a sound's ends by radians,
// so it does not learn: with Adam at 1e-3 nothing is learned otherwise.
void take_network(FitPlan& p, const Signal& sound, Model model) {
  const double seconds = static_cast<double>(sound.rows()) / static_cast<double>(sound.rate());
  const bool sines = p.field.activation == Activation::siren || p.field.activation == Activation::finer;
  p.field.widths = {256, 256, 256};
  p.field.first_omega = sines ? std::clamp(1430 * seconds, 30.0, 1e6) : 20;
  p.field.omega = sines ? 30 : model == Model::tanh ? 1.5 : 10;
  p.fixed_frequencies = sines;
  p.batch = std::min<std::int64_t>(4096, sound.rows());
  p.lr = 1e-3;
  p.steps = 2000;
}

}  // namespace

FitPlan sound_recipe(const Signal& sound, const FitOptions& wishes) {
  FitPlan p;
  describe(sound, p.field);
  // Wishes that a grid alone cannot grant: it has no hidden layers.
  const bool wants_layers = wishes.width || wishes.depth || wishes.optimizer == OptimizerKind::muon;
  const Model model =
      wishes.model.value_or(sound.rows() > kShort && !wants_layers ? Model::hashgrid : Model::siren);
  set_model(p.field, model);
  p.field.head = Head::plain;
  if (model == Model::hashgrid)
    take_grid(p, sound, wants_layers);
  else
    take_network(p, sound, model);
  p.lr_min = p.lr * 1e-3;
  return p;
}

}  // namespace veldt::field
