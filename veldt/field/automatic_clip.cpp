// The choices that make the fit of a clip good without flags. Measured figures are in docs/clips.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veldt/field/automatic.h"
#include "veldt/field/choose.h"

namespace veldt::field {
namespace {

GridOptions clip_grid(const FieldOptions& field) {
  const std::int64_t side = std::max(field.width, field.height);
  GridOptions grid{.dims = 3};
  grid.coarsest = std::clamp<std::int64_t>(side / 2, 1, 16);
  grid.finest = std::clamp<std::int64_t>(side, grid.coarsest, 1 << 20);
  const double octaves = std::log2(static_cast<double>(grid.finest) / static_cast<double>(grid.coarsest));
  grid.levels = std::min(static_cast<int>(1 + std::round(2 * octaves)), GridLayout::kMaxLevels);
  const double pixels = static_cast<double>(field.width) * static_cast<double>(field.height) *
                        static_cast<double>(field.frames);
  grid.log2_entries = std::clamp(static_cast<int>(std::log2(pixels)) - 2, 8, 19);
  return grid;
}

}  // namespace

FitChoices automatic_clip(const Signal& clip, const FitOptions& wishes) {
  FitChoices p;
  describe(clip, p.field);
  const bool by_network = wishes.first_omega || wishes.omega;
  const Model model = wishes.model.value_or(by_network ? Model::siren : Model::hashgrid);
  const auto side = static_cast<double>(std::max(p.field.width, p.field.height));
  p.field.time_scale = std::clamp(static_cast<double>(clip.frames()) / side, 0.05, 1.0);
  choose_model(p, model);
  p.reasons["model"] =
      wishes.model ? because::kAskedFor
                   : fmt::format("a grid learns {} pixels faster than a network alone", clip.points());
  p.choose(p.sampling, Sampling::stratified, "sampling", because::kAllPlaces);
  p.choose(p.optimizer, OptimizerKind::adam, "optimizer", because::kSteady);
  p.choose(p.loss, Loss::mse, "loss", because::kMeasured);
  p.choose(p.field.footprint, 1, "footprint", because::kAtCentres);
  p.field.widths = {160, 160, 160, 160};
  choose_batch(p, 8192, clip.points());
  p.lr = 1e-3;
  p.steps = 2000;
  if (model == Model::hashgrid) {
    p.field.widths = {64, 64};
    choose_grid(p, clip_grid(p.field));
    choose_batch(p, 16384, clip.points());
    p.lr = 1e-2;
    p.eps = 1e-15;
    p.choose(
        p.between_share, 0.25, "between",
        "of each batch lies between pixels and frames, so that the clip can be enlarged and slowed down");
    // Each pixel of a long clip is to be seen as often as those of a short one, as far as anybody waits.
    p.steps = std::clamp<std::int64_t>(40 * clip.points() / p.batch, 1000, 20'000);
  } else if (model == Model::siren || model == Model::finer) {
    const double omega = std::round(std::clamp(0.4 * side, 15.0, 60.0));
    choose_omegas(p, omega, starts_below(p.field, omega), 30, because::kFar);
    if (model == Model::finer) p.lr /= 2;
  } else {
    choose_omegas(p, 20, because::kUsual, 10, because::kUsual);
    p.lr = 2e-3;
  }
  choose_lr(p, p.lr);
  p.lr_min = p.lr * 1e-3;
  return p;
}

}  // namespace veldt::field
