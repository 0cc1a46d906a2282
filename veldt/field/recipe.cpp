#include "veldt/field/recipe.h"

#include <algorithm>

namespace veldt::field {

PictureTraits traits_of(const Tensor& picture) {
  PictureTraits t;
  t.pixels = picture.size(0) * picture.size(1);
  if (picture.size(2) != 1) return t;
  std::int64_t pure = 0, near = 0;
  for (float v : picture.values<float>()) {
    pure += v == 0.0f || v == 1.0f;
    near += v < 0.05f || v > 0.95f;
  }
  t.two_level = pure == t.pixels;
  t.line_art = !t.two_level && near >= t.pixels * 8 / 10;
  return t;
}

FitPlan recipe_for(const Tensor& picture, const FitOptions& wishes) {
  const PictureTraits traits = traits_of(picture);
  FitPlan p;
  p.field.activation = wishes.activation.value_or(Activation::siren);
  p.field.first_omega = 30;
  p.field.omega = 10;
  p.field.widths = {128, 128, 128, 128};
  p.batch = std::min<std::int64_t>(4096, traits.pixels);
  p.steps = 600;
  p.lr = 2e-3;
  if (traits.two_level || traits.line_art) p.edge_share = 0.75;
  if (traits.two_level) p.loss = Loss::hinge;
  if (traits.line_art) {
    p.field.footprint = 2;
  }
  return p;
}

FitPlan simba_plan() {
  FitPlan p;
  p.field.activation = Activation::tanh;
  p.field.widths = {128, 128, 256, 128, 64, 64, 64};
  p.field.bias = false;
  p.field.constant_input = true;
  p.field.head = Head::ink;
  p.field.coordinates = Coordinates::corners;
  p.steps = 1'200'000;
  p.batch = 0;
  p.optimizer = OptimizerKind::sgd;
  p.lr = 0.01;
  p.lr_min = 1e-6;
  p.schedule = ScheduleKind::cosine;
  p.loss = Loss::mse;
  return p;
}

}  // namespace veldt::field
