// Sets choices of a fit and their reasons.
#include "veldt/field/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace veldt::field {
namespace {

double longer_side(const FieldOptions& field) {
  return static_cast<double>(std::max(field.width, field.height));
}

// Levels up to one cell per pixel of the longer side, a factor of sqrt(2) apart, with tables of an eighth to
// a quarter of the pixels, but at most 2^19 entries per level.
GridOptions grid_for(const FieldOptions& field) {
  const std::int64_t side = std::max(field.width, field.height);
  GridOptions grid{.dims = field.dimensions};
  grid.coarsest = std::clamp<std::int64_t>(side / 2, 1, 16);
  grid.finest = std::clamp<std::int64_t>(side, grid.coarsest, 1 << 20);
  const double octaves = std::log2(static_cast<double>(grid.finest) / static_cast<double>(grid.coarsest));
  const double levels = 1 + std::round(2 * octaves);
  grid.levels = std::min(static_cast<int>(levels), GridLayout::kMaxLevels);
  const double pixels = static_cast<double>(field.width) * static_cast<double>(field.height);
  grid.log2_entries = std::clamp(static_cast<int>(std::log2(pixels)) - 2, 8, 19);
  return grid;
}

// Waves per unit for a picture of this size; more fits noise between the pixels.
FourierOptions waves_for(const FieldOptions& field) {
  const auto side = static_cast<double>(std::max(field.width, field.height));
  return {.sigma = std::clamp(0.008 * side, 1.0, 10.0)};
}

}  // namespace

const char* point_of(const FitChoices& choices) {
  return choices.has_teacher() ? "sample" : choices.field.is_sound() ? "frame" : "pixel";
}

std::string in_words(const FieldOptions& field, double cycles) {
  return field.is_sound() ? fmt::format("{:.0f} Hz", cycles * static_cast<double>(field.rate))
                          : fmt::format("{:.2g} cycles a pixel", cycles);
}

void choose_model(FitChoices& p, Model model) {
  FieldOptions& field = p.field;
  field.encodings.clear();
  field.activation = Activation::relu;
  if (model == Model::fourier) {
    const FourierOptions waves = waves_for(field);
    field.encodings = {waves};
    p.reasons["sigma"] = fmt::format("{} waves, two in three below {}", waves.frequencies,
                                     in_words(field, 2 * waves.sigma / longer_side(field)));
  } else if (model == Model::hashgrid) {
    choose_grid(p, grid_for(field));
  } else {
    field.activation = activation_of(model).value();
  }
  p.reasons.try_emplace("depth", model == Model::hashgrid ? "the grid does most of the work"
                                 : model == Model::siren || model == Model::finer
                                     ? "hidden layers multiply the frequencies of the first"
                                     : "hidden layers combine the first layer's waves");
}

void choose_grid(FitChoices& p, const GridOptions& grid) {
  const FieldOptions& field = p.field;
  const char* const point = field.is_sound() ? "frame" : "pixel";
  const double cells = static_cast<double>(grid.finest) / longer_side(field);
  const double entries = std::exp2(grid.log2_entries) / static_cast<double>(field.width * field.height) /
                         static_cast<double>(field.frames);
  p.field.encodings = {grid};
  p.reasons["grid"] =
      grid.coarsest == grid.finest
          ? fmt::format("{} cells, {:.2g} for each {}", grid.finest, cells, point)
          : fmt::format(
                "levels from {} to {} cells, {:.2g} for each {} of the longer side; up to 2^{} "
                "vertices a level, {:.2g} for each {}",
                grid.coarsest, grid.finest, cells, point, grid.log2_entries, entries, point);
}

void choose_omegas(FitChoices& p, double first, std::string why_first, double others,
                   std::string why_others) {
  p.choose(p.field.first_omega, first, "first-omega", std::move(why_first));
  p.choose(p.field.omega, others, "omega", std::move(why_others));
}

// A first layer's weights are drawn from U(-1/n, 1/n), and a unit of a coordinate is half the longer side.
std::string starts_below(const FieldOptions& field, double first_omega, const std::string& detail) {
  const double highest = first_omega / field.inputs() / (std::numbers::pi * longer_side(field));
  return fmt::format("the first layer starts below {}{}, and the others make overtones",
                     in_words(field, highest), detail);
}

void choose_batch(FitChoices& p, std::int64_t batch, std::int64_t points) {
  const auto all = static_cast<double>(points);
  p.choose(p.batch, std::min(batch, points), "batch",
           batch >= points
               ? fmt::format("every {}, in every step", point_of(p))
               : fmt::format("{:.2g} of the {:.0f} {}s", static_cast<double>(batch) / all, all, point_of(p)));
}

void choose_lr(FitChoices& p, double lr) {
  p.choose(p.lr, lr, "lr", fmt::format("suits {} with {}", name_of(model_of(p.field)), name_of(p.optimizer)));
}

}  // namespace veldt::field
