// The choices themselves: size of grid and network, rates, steps and teacher, for each kind of signal.
#include "veldt/field/recipe.h"

#include <algorithm>
#include <cmath>

#include "veldt/field/spectrum.h"

namespace veldt::field {

namespace {

// Larger pictures would need too much memory for a teacher's redraw.
constexpr std::int64_t kTaughtPixels = 1 << 19;
constexpr int kTaughtSamples = 4;  // along each side of a pixel
const std::vector<std::int64_t> kOriginalWidths = {128, 128, 256, 128, 64, 64, 64};

// Levels up to a cell for each pixel of the longer side, a factor of sqrt(2) apart, with tables of an eighth
// to a quarter of the pixels, but no more than 2^19 entries a level.
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

// The first layer starts with frequencies up to 0.4 of the spectrum's centroid along each axis: the other
// layers' overtones reach the rest. finer reaches further by itself. Measured in docs/fields.md; lower blurs,
// higher ripples between the pixels.
double omega_for(const Signal& picture, Model model) {
  const auto side = static_cast<double>(std::max(picture.rows(), picture.columns()));
  if (model != Model::siren && model != Model::finer) return std::clamp(0.12 * side, 30.0, 90.0);
  const double centroid =
      std::max(spectrum_of(picture, Axis::across).centroid, spectrum_of(picture, Axis::down).centroid);
  return std::round(std::clamp((model == Model::siren ? 2.5 : 2.0) * side * centroid, 15.0, 90.0));
}

// The rates and frequencies above are for sines; the others want their own (docs/fields.md).
void adjust_to_model(FitPlan& p, Model model, double pixels) {
  switch (model) {
    case Model::siren: return;
    case Model::finer:
      // sin(omega (|x| + 1) x) reaches higher frequencies by itself.
      p.lr /= 2;
      return;
    case Model::gauss:
      p.field.first_omega = 20;
      p.field.omega = 10;
      p.lr = 2e-3;
      return;
    case Model::wire:
      // A wide window: the authors' 10 lets go of most points before training begins.
      p.field.omega = 20;
      p.field.scale = 3;
      p.lr = 2e-3;
      return;
    case Model::fourier: p.lr = 3e-3; return;
    case Model::tanh:
      // Steep ridges, and layers that fold them: see start_as_ridges() in network.cpp.
      p.field.first_omega = 10;
      p.field.omega = 1.5;
      p.lr = 2e-3;
      if (p.edge_share == 0) return;
      // Lines want more of both. A drawing is given the network of the original recipe.
      p.field.first_omega = 20;
      p.field.omega = 3.5;
      p.optimizer = OptimizerKind::muon;
      p.lr = 5e-3;
      p.field.widths = kOriginalWidths;
      p.field.bias = false;
      p.field.constant_input = true;
      return;
    case Model::relu: p.lr = 2e-3; return;
    case Model::hashgrid:
      // As Mueller et al. train it: an entry is rarely met, and its gradients are small.
      p.field.widths = {64, 64};
      p.batch = static_cast<std::int64_t>(std::min(16384.0, pixels));
      p.lr = 1e-2;
      p.eps = 1e-15;
      // A grid as fine as the picture can do between the pixels what it likes; told so much, it does not.
      p.between_share = 0.25;
      return;
  }
}

// Cells of half a pixel, so that the redraw has several samples in each.
GridOptions taught_grid_for(const FieldOptions& field) {
  const std::int64_t side = std::max(field.width, field.height);
  GridOptions grid{.dims = field.dimensions};
  grid.coarsest = 8;
  grid.finest = std::max<std::int64_t>(grid.coarsest, 2 * side);
  const double octaves = std::log2(static_cast<double>(grid.finest) / static_cast<double>(grid.coarsest));
  grid.levels = std::min(1 + static_cast<int>(std::ceil(octaves / std::log2(1.5))), GridLayout::kMaxLevels);
  const auto vertices_along = [&](std::int64_t pixels) {
    return static_cast<double>(grid.finest) * static_cast<double>(pixels) / static_cast<double>(side) + 1;
  };
  const double vertices = vertices_along(field.width) * vertices_along(field.height);
  grid.log2_entries = std::clamp(static_cast<int>(std::ceil(std::log2(vertices))), 8, 18);
  return grid;
}

void follow_teacher(FitPlan& p) {
  p.closes = 1;
  p.lesson_scale = kTaughtSamples;
  p.between_share = 0;
  p.field.footprint = p.source == Source::area ? kTaughtSamples : 1;
  p.field.encodings = {taught_grid_for(p.field)};
  const std::int64_t samples = p.field.width * p.field.height * kTaughtSamples * kTaughtSamples;
  p.batch = std::min(samples, std::clamp<std::int64_t>(samples / 64, 4096, 16384));
  p.lr = 2e-2;
  p.warmup = 20;
  p.steps = 400;
}

// The two colours of a picture that has two, the darker one first.
std::vector<std::vector<double>> tones_of(const Signal& picture) {
  std::vector<std::vector<double>> tones;
  const auto channels = static_cast<std::size_t>(picture.channels());
  for (std::int64_t row = 0; row < picture.rows(); ++row) {
    const std::vector<float> levels = picture.read(row, 1).values<float>();
    for (std::size_t i = 0; i < levels.size(); i += channels) {
      const std::vector<double> tone(levels.begin() + static_cast<long>(i),
                                     levels.begin() + static_cast<long>(i + channels));
      if (std::find(tones.begin(), tones.end(), tone) == tones.end()) tones.push_back(tone);
    }
    if (tones.size() > 1) break;
  }
  std::sort(tones.begin(), tones.end());
  return tones;
}

// A square needs one level, and the closing puts right what a small network lacks of it.
void draw_squares(FitPlan& p, std::int64_t period) {
  p.field.squares = true;
  p.field.period = period;
  p.batch = std::min<std::int64_t>(4096, p.field.columns() * p.field.rows());
  p.between_share = 0;
  p.closes = 1;
  p.field.widths = {64, 64};
  p.field.first_omega = 30;
  p.field.omega = 30;
  p.edge_share = 0;
  p.sampling = Sampling::stratified;
  p.loss = Loss::mse;
  p.lr = 1e-3;
  p.steps = 200;
}

bool needs_network(const FitOptions& w) { return w.first_omega || w.omega; }

// Whether between the pixels a fit follows a teacher: a grid does, which alone could do there what it likes.
bool follows_teacher(const FitOptions& w, std::int64_t pixels) {
  return w.model.value_or(Model::hashgrid) == Model::hashgrid && !needs_network(w) &&
         pixels <= kTaughtPixels && !w.footprint && w.loss.value_or(Loss::mse) == Loss::mse;
}

// How a picture is held.
struct Way {
  Model model;
  bool squares, taught, drawing;  // at most one of these
};
Way way_for(const PictureFacts& facts, const PictureKind& kind, const Signal& signal,
            const FitOptions& wishes) {
  const bool is_free = !wishes.model && !needs_network(wishes) && !wishes.footprint &&
                       wishes.loss.value_or(Loss::mse) == Loss::mse;
  const bool squares = kind.style == Style::pixel && (is_free || wishes.style);
  const bool has_redraw =
      !kind.two_tone || !facts.two_level || wishes.tone_prior || wishes.source == Source::point;
  const bool taught = !squares && has_redraw && follows_teacher(wishes, signal.points());
  const bool by_network = needs_network(wishes) || squares || (facts.two_level && !taught);
  const Model model = wishes.model.value_or(by_network ? Model::siren : Model::hashgrid);
  const bool is_line_art = kind.style == Style::line && signal.channels() == 1 && model != Model::hashgrid;
  return {model, squares, taught, !taught && !squares && (facts.two_level || is_line_art)};
}

}  // namespace

void describe(const Signal& signal, FieldOptions& field) {
  field.dimensions = signal.is_sound() ? 1 : 2;
  field.height = signal.rows();
  field.width = signal.columns();
  field.channels = signal.channels();
  field.rate = signal.rate();
  field.peak = signal.peak();
  field.bits = signal.is_sound() ? 8 : signal.bits();
}

void set_model(FieldOptions& field, Model model) {
  field.encodings.clear();
  field.activation = Activation::relu;
  if (model == Model::fourier)
    field.encodings = {waves_for(field)};
  else if (model == Model::hashgrid)
    field.encodings = {grid_for(field)};
  else
    field.activation = static_cast<Activation>(model);  // the first models are the activations, in order
}

FitPlan recipe_for(const Signal& signal, const FitOptions& wishes) {
  if (signal.is_sound()) return sound_recipe(signal, wishes);
  const PictureFacts facts = facts_of(signal);
  const PictureKind kind = kind_of(facts, signal, wishes.style);
  const auto [model, squares, taught, drawing] = way_for(facts, kind, signal, wishes);
  const std::int64_t pixels = signal.points();
  const auto side = static_cast<double>(std::max(signal.rows(), signal.columns()));
  FitPlan p;
  p.kind = kind;
  p.source = wishes.source;
  describe(signal, p.field);
  set_model(p.field, model);
  p.batch = std::min<std::int64_t>(4096, pixels);
  // A network's weights serve the whole picture, so it gains where it learns from its errors. An entry of a
  // grid serves one place and wants to see each of its pixels.
  p.sampling = model == Model::hashgrid ? Sampling::stratified
               : drawing                ? Sampling::uniform
                                        : Sampling::error;
  if (drawing) {
    // Thin lines on flat ground. A low omega in the hidden layers keeps the lines smooth when they are
    // enlarged.
    p.field.widths = {128, 128, 128, 128};
    p.field.first_omega = 30 * std::clamp(side / 200, 1.0, 4.0);
    p.field.omega = 10;
    p.edge_share = 0.75;
    p.steps = 600;
    if (facts.two_level) {
      p.loss = Loss::hinge;
      p.lr = 1e-3;
    } else {
      p.field.footprint = 2;
      p.field.two_tone = true;
      p.lr = 2e-3;
    }
  } else {
    p.field.widths = {160, 160, 160, 160};
    p.field.first_omega = omega_for(signal, model);
    p.field.omega = 30;
    p.lr = 1e-3;
    p.steps = 1200;
  }
  adjust_to_model(p, model, static_cast<double>(pixels));
  if (squares) draw_squares(p, facts.period);
  if (taught) follow_teacher(p);
  if (taught && kind.two_tone && wishes.tone_prior && p.source == Source::area)
    p.field.tones = tones_of(signal);
  p.lr_min = p.lr * 1e-3;
  // Pixel art has squares and nothing between them, and what lies between two tones, pixels do not tell the
  // prior.
  const bool is_judged = !squares && !kind.two_tone && kind_of(facts, signal).style != Style::pixel;
  if (is_judged && pixels <= kTaughtPixels && p.source == Source::area) p.judge = wishes.prior;
  return p;
}

FitPlan simba_plan() {
  FitPlan p;
  p.field.activation = Activation::tanh;
  p.field.widths = kOriginalWidths;
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
