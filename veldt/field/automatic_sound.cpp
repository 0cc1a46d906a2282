// The choices that make the fit of a sound good without flags. Measured figures are in docs/fields.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veldt/field/choose.h"
#include "veldt/field/automatic.h"

namespace veldt::field {
namespace {

// The allowed error of a grid, as a share of the peak, at any frame and in the mean square. Then one f16
// number per frame closes it to a quarter of a 16-bit step, and adds a fiftieth to the noise of rounding to
// 16 bits.
constexpr double kMostMissed = 1.0 / 32, kMissed = 1.0 / 220;
constexpr double kVertexMargin = 1.15;  // factor on vertices, for a grid that has not learned it completely
constexpr double kMostCells = 0.5;      // per frame: about as many bytes as a second number of the closing
constexpr double kFewCells = 0.0625;    // if there must be two numbers anyway

// The second differences of a sound, as shares of its peak.
struct Bends {
  double largest = 0, mean_square = 0;
};
Bends bends_of(const Signal& sound) {
  const std::int64_t channels = sound.channels(), n = sound.samples().numel();
  const float* at = sound.samples().data<float>();
  Bends bends;
  if (sound.peak() == 0) return bends;
  for (std::int64_t i = 2 * channels; i < n; ++i) {
    const double bend = (static_cast<double>(at[i]) - 2.0 * static_cast<double>(at[i - channels]) +
                         static_cast<double>(at[i - 2 * channels])) /
                        sound.peak();
    bends.largest = std::max(bends.largest, std::abs(bend));
    bends.mean_square += bend * bend / static_cast<double>(n);
  }
  return bends;
}

// Vertices per frame, so that one number per frame closes the error of a broken line. With vertices h frames
// apart the error of the best one is at most b h^2 / 12 where the second difference is b, and in the mean
// square (b h^2)^2 / 720 (Blu and Unser 1999, "Quantitative Fourier analysis of approximation techniques").
double cells_needed(const Signal& sound) {
  const Bends bends = bends_of(sound);
  return kVertexMargin *
         std::sqrt(std::max(bends.largest / 12 / kMostMissed, std::sqrt(bends.mean_square / 720) / kMissed));
}

// One level, whose vertices hold the values of a broken line.
GridOptions broken_line(const Signal& sound, double cells_a_frame) {
  GridOptions grid{.dims = 1, .log2_entries = 30};
  // One feature per channel, mixed by the linear layer; if a level has fewer, several levels.
  const std::int64_t channels = sound.channels();
  grid.levels = static_cast<int>((channels + GridLayout::kMaxFeatures - 1) / GridLayout::kMaxFeatures);
  grid.features = static_cast<int>((channels + grid.levels - 1) / grid.levels);
  grid.coarsest = std::max<std::int64_t>(1, std::llround(static_cast<double>(sound.rows()) * cells_a_frame));
  grid.finest = grid.coarsest;
  return grid;
}

void take_grid(FitChoices& p, const Signal& sound, bool wants_layers) {
  p.eps = 1e-15;
  if (wants_layers) {  // they use the levels of choose_model(), as those of pictures do
    p.field.widths = {64, 64};
    choose_batch(p, 4096, sound.rows());
    p.lr = 1e-2;
    p.steps = 2000;
    return;
  }
  // A layer that mixes the channels, and none before it: they cost time and gain nothing (docs/fields.md).
  const double cells = cells_needed(sound);
  const bool is_smooth = cells <= kMostCells;
  choose_grid(p, broken_line(sound, is_smooth ? cells : kFewCells));
  p.field.widths = {};
  // Shares of the sound, not numbers of frames, so that a vertex is visited equally often for any length.
  choose_batch(p, std::max<std::int64_t>(sound.rows() / 16, 1024), sound.rows());
  p.lr = 3e-2;
  p.choose(p.closes, is_smooth ? 1 : 2, "closing",
           "the grid's error at each frame is stored; a windowed sinc interpolates between frames");
  p.steps = is_smooth ? 480 : 120;  // two numbers close any error
}

// Positions span -1..1 for any length, but pitch is per second: the first layer covers -450 to 450 Hz, and
// the others add overtones. Sitzmann et al. 2020 do the same by stretching positions to -100..100. One step
// of its weights would turn the phase at a sound's ends by radians, so the layer is frozen: with Adam at 1e-3
// nothing is learned otherwise.
void take_network(FitChoices& p, const Signal& sound, Model model) {
  const double seconds = static_cast<double>(sound.rows()) / static_cast<double>(sound.rate());
  const bool sines = p.field.activation == Activation::siren || p.field.activation == Activation::finer;
  p.field.widths = {256, 256, 256};
  const std::string suits = fmt::format("suits {} whatever is fitted", name_of(model));
  if (const double omega = std::clamp(1430 * seconds, 30.0, 1e6); sines)
    choose_omegas(p, omega, starts_below(p.field, omega), 30, because::kFar);
  else if (model == Model::tanh)
    choose_omegas(p, 20, because::kRidges, 1.5, because::kGain);
  else
    choose_omegas(p, 20, suits, 10, suits);
  p.fixed_frequencies = sines;
  choose_batch(p, 4096, sound.rows());
  p.lr = 1e-3;
  p.steps = 2000;
}

}  // namespace

FitChoices automatic_sound(const Signal& sound, const FitOptions& wishes) {
  FitChoices p;
  describe(sound, p.field);
  // Wishes that a grid alone cannot fulfil: it has no hidden layers.
  const bool wants_layers = wishes.width || wishes.depth || wishes.optimizer == OptimizerKind::muon;
  const bool by_network = wants_layers || wishes.first_omega || wishes.omega;
  const Model model = wishes.model.value_or(by_network ? Model::siren : Model::hashgrid);
  choose_model(p, model);
  p.reasons["model"] = wishes.model ? because::kAskedFor
                       : by_network
                           ? "a sound is made of waves"
                           : fmt::format("a grid learns {} frames faster than a network alone", sound.rows());
  p.choose(p.sampling, Sampling::uniform, "sampling", because::kShuffled);
  p.choose(p.optimizer, OptimizerKind::adam, "optimizer", because::kSteady);
  p.choose(p.loss, Loss::mse, "loss", because::kMeasured);
  p.field.head = Head::plain;
  if (model == Model::hashgrid)
    take_grid(p, sound, wants_layers);
  else
    take_network(p, sound, model);
  choose_lr(p, p.lr);
  p.lr_min = p.lr * 1e-3;
  return p;
}

}  // namespace veldt::field
