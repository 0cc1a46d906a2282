// The choices that make the fit of a sound good without flags. Measured figures are in bench/RESULTS.md.
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
  // Positions span -1..1 whatever the length, and frequencies are heard by the second.
  p.field.first_omega =
      440 * std::max(0.1, static_cast<double>(sound.rows()) / static_cast<double>(sound.rate()));
  p.field.omega = 30;
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
