// The choices for pictures: size of grid and network, rates, steps and teacher, by the kind of picture.
#include "veldt/field/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "veldt/field/choose.h"

namespace veldt::field {

namespace {

// Larger pictures would take too much memory for a teacher's redraw.
constexpr std::int64_t kTaughtPixels = 1 << 19;
constexpr int kTaughtSamples = 4;  // along each side of a pixel
const std::vector<std::int64_t> kOriginalWidths = {128, 128, 256, 128, 64, 64, 64};

constexpr const char* kByTheSide = "by the picture's longer side";

bool is_of_sines(Model model) { return model == Model::siren || model == Model::finer; }

// The first layer starts with frequencies up to 0.4 of the spectrum's centroid along each axis: the other
// layers' overtones cover the rest. finer reaches higher by itself. Measured in docs/fields.md: lower ones
// blur, higher ones ripple between the pixels.
void choose_omegas_by_spectrum(FitChoices& p, Model model, const Traits& traits) {
  const auto side = static_cast<double>(std::max(p.field.width, p.field.height));
  if (!is_of_sines(model))
    return choose_omegas(p, std::clamp(0.12 * side, 30.0, 90.0), kByTheSide, 30, because::kFar);
  const double centroid = std::max(traits.across.centroid, traits.down.centroid);
  const double omega =
      std::round(std::clamp((model == Model::siren ? 2.5 : 2.0) * side * centroid, 15.0, 90.0));
  const std::string detail = fmt::format(" along each axis, the spectrum's centroid is at {:.2g}", centroid);
  choose_omegas(p, omega, starts_below(p.field, omega, detail), 30, because::kFar);
}

// A low omega in the hidden layers keeps the lines smooth when they are enlarged.
void choose_omegas_of_lines(FitChoices& p, Model model) {
  const auto side = static_cast<double>(std::max(p.field.width, p.field.height));
  const double omega = 30 * std::clamp(side / 200, 1.0, 4.0);
  choose_omegas(p, omega, is_of_sines(model) ? starts_below(p.field, omega) : kByTheSide, 10,
                "low: lines stay smooth when they are enlarged");
}

// Thin lines on flat ground.
void draw_lines(FitChoices& p, Model model, bool two_level) {
  p.field.widths = {128, 128, 128, 128};
  choose_omegas_of_lines(p, model);
  p.choose(p.edge_share, 0.75, "edges",
           "of each batch: most of a drawing is paper, and even batches would only learn paper");
  // A grid's entry covers one place and needs to see each of its pixels.
  if (model == Model::hashgrid)
    p.choose(p.sampling, Sampling::stratified, "sampling", because::kAllPlaces);
  else
    p.choose(p.sampling, Sampling::uniform, "sampling", "in shuffled order, edges and flat ground apart");
  p.steps = 600;
  if (two_level) {
    p.choose(p.loss, Loss::hinge, "loss",
             "every level is black or white, and values beyond them are no error");
    p.lr = 1e-3;
  } else {
    p.choose(p.field.footprint, 2, "footprint", "greys of line art are edges that a pixel has averaged");
    p.field.two_tone = true;
    p.lr = 2e-3;
  }
}

void draw_levels(FitChoices& p, Model model, const Traits& traits) {
  p.field.widths = {160, 160, 160, 160};
  choose_omegas_by_spectrum(p, model, traits);
  if (model == Model::hashgrid)
    p.choose(p.sampling, Sampling::stratified, "sampling", because::kAllPlaces);
  else
    p.choose(p.sampling, Sampling::error, "sampling",
             "its weights serve all places, so it learns where its errors are");
  p.lr = 1e-3;
  p.steps = 1200;
}

// The rates and frequencies above are for sines; the others need their own (docs/fields.md).
void adjust_to_model(FitChoices& p, Model model, std::int64_t pixels) {
  switch (model) {
    case Model::siren: return;
    case Model::finer:
      // sin(omega (|x| + 1) x) reaches higher frequencies by itself.
      p.lr /= 2;
      return;
    case Model::gauss:
      choose_omegas(p, 20, "suits gauss whatever is fitted", 10, "suits gauss whatever is fitted");
      p.lr = 2e-3;
      return;
    case Model::wire:
      // A wide window: with the authors' 10 most points have no gradient before training begins.
      p.choose(p.field.omega, 20, "omega", "suits wire whatever is fitted");
      p.field.scale = 3;
      p.lr = 2e-3;
      return;
    case Model::fourier: p.lr = 3e-3; return;
    case Model::tanh: {
      // Steep ridges, and layers that fold them: see start_as_ridges() in network.cpp. Lines need more of
      // both.
      const bool is_drawing = p.edge_share > 0;
      choose_omegas(p, is_drawing ? 20 : 10, because::kRidges, is_drawing ? 3.5 : 1.5, because::kGain);
      p.lr = 2e-3;
      if (!is_drawing) return;
      // A drawing is given the network of the simba preset.
      p.choose(p.optimizer, OptimizerKind::muon, "optimizer",
               "it orthogonalises whole matrices, with which this network learns faster");
      p.lr = 5e-3;
      p.field.widths = kOriginalWidths;
      p.field.bias = false;
      p.field.constant_input = true;
      return;
    }
    case Model::relu: p.lr = 2e-3; return;
    case Model::hashgrid:
      // As Mueller et al. train it: an entry is rarely visited, and its gradients are small.
      p.field.widths = {64, 64};
      choose_batch(p, 16384, pixels);
      p.lr = 1e-2;
      p.eps = 1e-15;
      // A grid as fine as the picture is unconstrained between the pixels; the extra samples there prevent
      // artefacts.
      p.choose(p.between_share, 0.25, "between",
               "of each batch lies between pixels, so that the picture can be enlarged");
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

void follow_teacher(FitChoices& p) {
  p.closes = 1;
  p.lesson_scale = kTaughtSamples;
  p.between_share = 0;
  if (p.source == Source::area)
    p.choose(p.field.footprint, kTaughtSamples, "footprint",
             "samples along a pixel's sides, so that the space between the pixels is constrained");
  choose_grid(p, taught_grid_for(p.field));
  const std::int64_t samples = p.field.width * p.field.height * kTaughtSamples * kTaughtSamples;
  choose_batch(p, std::clamp<std::int64_t>(samples / 64, 4096, 16384), samples);
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

// A square needs one level, and the closing corrects the errors of a small network.
void draw_squares(FitChoices& p, std::int64_t period) {
  p.field.squares = true;
  p.field.period = period;
  choose_batch(p, 4096, p.field.columns() * p.field.rows());
  p.between_share = 0;
  p.closes = 1;
  p.field.widths = {64, 64};
  choose_omegas(p, 30, starts_below(p.field, 30), 30, because::kFar);
  p.edge_share = 0;
  p.choose(p.sampling, Sampling::stratified, "sampling", because::kAllPlaces);
  p.lr = 1e-3;
  p.steps = 200;
}

bool needs_network(const FitOptions& w) { return w.first_omega || w.omega; }

// Whether a fit follows a teacher between the pixels: a grid does, because it would be unconstrained there.
bool follows_teacher(const FitOptions& w, std::int64_t pixels) {
  return w.model.value_or(Model::hashgrid) == Model::hashgrid && !needs_network(w) &&
         pixels <= kTaughtPixels && !w.footprint && w.loss.value_or(Loss::mse) == Loss::mse;
}

// How a picture is represented.
struct Way {
  Model model;
  std::string why;                // this model
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
  const bool drawing = !taught && !squares && (facts.two_level || is_line_art);
  const std::string why =
      wishes.model ? because::kAskedFor
      : squares    ? "a small network, because each pixel is one square of one level"
      : drawing    ? "a drawing, which a small network of sines represents and enlarges well"
      : by_network ? "an omega is asked for, and a grid has none"
                   : fmt::format("a grid learns {} pixels faster than a network alone", signal.points());
  return {model, why, squares, taught, drawing};
}

}  // namespace

void describe(const Signal& signal, FieldOptions& field) {
  field.dimensions = signal.is_sound() ? 1 : signal.is_clip() ? 3 : 2;
  field.height = signal.rows_a_frame();
  field.frames = signal.frames();
  field.seconds = signal.seconds();
  field.width = signal.columns();
  field.channels = signal.channels();
  field.rate = signal.rate();
  field.peak = signal.peak();
  field.bits = signal.is_sound() ? 8 : signal.bits();
}

Traits traits_of(const Signal& signal, std::optional<Style> wish) {
  Traits traits;
  if (signal.is_clip()) {
    traits.seen.reason = traits.kind.reason = "an animated picture";
    return traits;
  }
  traits.down = spectrum_of(signal, Axis::down);
  if (signal.is_sound()) return traits;
  traits.across = spectrum_of(signal, Axis::across);
  traits.facts = facts_of(signal);
  traits.seen = kind_of(traits.facts, signal);
  traits.kind = wish ? kind_of(traits.facts, signal, wish) : traits.seen;
  return traits;
}

FitChoices automatic_picture(const Signal& signal, const Traits& traits, const FitOptions& wishes) {
  const PictureFacts& facts = traits.facts;
  const PictureKind& kind = traits.kind;
  const Way way = way_for(facts, kind, signal, wishes);
  const std::int64_t pixels = signal.points();
  FitChoices p;
  p.source = wishes.source;
  describe(signal, p.field);
  choose_model(p, way.model);
  p.reasons["model"] = way.why;
  choose_batch(p, 4096, pixels);
  p.choose(p.optimizer, OptimizerKind::adam, "optimizer", because::kSteady);
  p.choose(p.loss, Loss::mse, "loss", because::kMeasured);
  p.choose(p.field.footprint, 1, "footprint", because::kAtCentres);
  if (way.drawing)
    draw_lines(p, way.model, facts.two_level);
  else
    draw_levels(p, way.model, traits);
  adjust_to_model(p, way.model, pixels);
  if (way.squares) draw_squares(p, facts.period);
  if (way.taught) follow_teacher(p);
  if (way.taught && kind.two_tone && wishes.tone_prior && p.source == Source::area)
    p.field.tones = tones_of(signal);
  choose_lr(p, p.lr);
  p.lr_min = p.lr * 1e-3;
  // Pixel art has nothing between its squares, and between two tones the prior cannot know more than the
  // pixels.
  const bool is_judged = !way.squares && !kind.two_tone && traits.seen.style != Style::pixel;
  if (is_judged && pixels <= kTaughtPixels && p.source == Source::area) p.judge = wishes.prior;
  return p;
}

FitChoices simba_choices() {
  FitChoices p;
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
  for (const char* choice : {"model", "width", "depth", "batch", "sampling", "footprint", "optimizer", "lr",
                             "schedule", "loss", "precision", "steps"})
    p.reasons[choice] = "the simba preset, exactly";
  return p;
}

}  // namespace veldt::field
