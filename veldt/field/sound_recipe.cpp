// The choices that make the fit of a sound good without flags. Measured figures are in docs/fields.md.
#include <algorithm>

#include "veldt/field/recipe.h"

namespace veldt::field {

FitPlan sound_recipe(const Signal& sound, const FitOptions& wishes) {
  FitPlan p;
  describe(sound, p.field);
  const Model model = wishes.model.value_or(Model::siren);
  set_model(p.field, model);
  p.field.widths = {256, 256, 256};
  p.field.head = Head::plain;
  // Positions span -1..1 whatever the length, and a sound has its pitch by the second: the first layer draws
  // from -450 to 450 Hz, and the others make its overtones. Sitzmann et al. 2020 do the same by stretching
  // positions to -100..100. A weight of it that moves by the rate turns the phase of a sound's ends by
  // radians, so it does not learn: with Adam at 1e-3 nothing is learned otherwise.
  const double seconds = static_cast<double>(sound.rows()) / static_cast<double>(sound.rate());
  const bool sines = p.field.activation == Activation::siren || p.field.activation == Activation::finer;
  p.field.first_omega = sines ? std::clamp(1430 * seconds, 30.0, 1e6) : 20;
  p.field.omega = sines ? 30 : 10;
  p.fixed_frequencies = sines;
  p.batch = std::min<std::int64_t>(4096, sound.rows());
  p.lr = 1e-3;
  p.lr_min = p.lr * 1e-3;
  p.steps = 2000;
  if (model == Model::hashgrid) {  // as for pictures
    p.field.widths = {64, 64};
    p.lr = 1e-2;
    p.eps = 1e-15;
    p.lr_min = p.lr * 1e-3;
  }
  return p;
}

}  // namespace veldt::field
