#include "veldt/field/recipe.h"

#include <algorithm>

namespace veldt::field {

namespace {

// The rates and frequencies above are for sines; the others want their own (docs/fields.md).
void adjust_to_activation(FitPlan& p) {
  switch (p.field.activation) {
    case Activation::siren: return;
    case Activation::finer:
      // sin(omega (|x| + 1) x) reaches higher frequencies by itself.
      p.lr /= 2;
      return;
    case Activation::gauss:
      p.field.first_omega = 20;
      p.field.omega = 10;
      p.lr = 2e-3;
      return;
    case Activation::tanh:
    case Activation::relu: p.lr = 2e-3; return;
  }
}

}  // namespace

PictureTraits traits_of(const Signal& picture) {
  PictureTraits t;
  t.pixels = picture.points();
  if (picture.channels() != 1) return t;
  std::int64_t pure = 0, grey = 0;
  for (std::int64_t row = 0; row < picture.rows(); ++row) {
    const Tensor levels = picture.read(row, 1);
    const float* v = levels.data<float>();
    for (std::int64_t i = 0; i < levels.numel(); ++i) {
      pure += v[i] == 0.0f || v[i] == 1.0f;
      grey += v[i] > 0.02f && v[i] < 0.98f;
    }
  }
  t.two_level = pure == t.pixels;
  // Drawings have 5 to 15 % of greys, photographs more than 80 %.
  t.line_art = !t.two_level && grey < t.pixels / 4;
  return t;
}

FitPlan recipe_for(const Signal& signal, const FitOptions& wishes) {
  if (signal.is_sound()) return sound_recipe(signal, wishes);
  const PictureTraits traits = traits_of(signal);
  const auto side = static_cast<double>(std::max(signal.rows(), signal.columns()));
  FitPlan p;
  p.field.activation = wishes.activation.value_or(Activation::siren);
  p.batch = std::min<std::int64_t>(4096, traits.pixels);
  if (traits.two_level || traits.line_art) {
    // Thin lines on flat ground. A low omega in the hidden layers keeps the lines smooth when they are
    // enlarged.
    p.field.widths = {128, 128, 128, 128};
    p.field.first_omega = 30 * std::clamp(side / 200, 1.0, 4.0);
    p.field.omega = 10;
    p.edge_share = 0.75;
    p.steps = 600;
    if (traits.two_level) {
      p.loss = Loss::hinge;
      p.lr = 1e-3;
    } else {
      p.field.footprint = 2;
      p.field.two_tone = true;
      p.lr = 2e-3;
    }
  } else {
    p.field.widths = {160, 160, 160, 160};
    p.field.first_omega = std::clamp(0.12 * side, 30.0, 90.0);
    p.field.omega = 30;
    p.lr = 1e-3;
    p.steps = 1200;
  }
  adjust_to_activation(p);
  p.lr_min = p.lr * 1e-3;
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
