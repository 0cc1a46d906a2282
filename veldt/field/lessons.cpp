// Chooses the teacher of a fit, makes it redraw the signal, and closes the field after the steps.
#include "veldt/field/lessons.h"

#include <algorithm>
#include <vector>

#include "veldt/field/sound_closing.h"
#include "veldt/field/gain.h"
#include "veldt/field/teacher.h"
#include "veldt/field/transparency.h"
#include "veldt/field/areas.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

// The remaining error as a share of a level's rounding: small enough to vanish when rounded.
constexpr double kRest = 0.3;
// The least distance of a pixel's mean from the middle of two tones, as a share of their distance.
constexpr double kMargin = 0.02;

Tensor picture_of(const Signal& signal) { return signal.read(0, signal.rows()); }

// One pixel of each square.
Tensor squares_of(const Signal& signal, std::int64_t period) {
  const std::int64_t rows = signal.rows() / period, columns = signal.columns() / period;
  const Tensor out = empty({rows, columns, signal.channels()});
  const auto channels = static_cast<std::size_t>(signal.channels());
  float* put = out.data<float>();
  for (std::int64_t row = 0; row < rows; ++row) {
    const Tensor line = signal.read(row * period, 1);
    for (std::int64_t column = 0; column < columns; ++column, put += channels)
      std::copy_n(line.data<float>() + static_cast<std::size_t>(column * period) * channels, channels, put);
  }
  return out;
}

// As many as one second allows, about.
int turns_for(std::int64_t pixels) { return pixels <= 128 * 128 ? 8 : pixels <= 256 * 256 ? 4 : 1; }

// The picture and the redraw are [height, width, channels].
std::optional<Tensor> redraw_by_prior(const Tensor& picture, const Prior& prior, const Watch& watch) {
  const std::int64_t height = picture.size(0), width = picture.size(1), s = Prior::kScale;
  const Tensor planes = contiguous(permute(picture, {2, 0, 1}));
  const Tensor out = empty({height * s, width * s, picture.size(2)});
  for (std::int64_t top = 0; top < height; top += kRedrawTile) {
    const std::int64_t rows = std::min(kRedrawTile, height - top);
    const Tensor band = redraw(prior, planes, {top, 0, rows, width}, turns_for(height * width));
    slice(out, 0, top * s, (top + rows) * s).assign(permute(band, {1, 2, 0}));
    if (!watch(static_cast<double>(top + rows) / static_cast<double>(height))) return std::nullopt;
  }
  return out;
}

// A level for each channel: [channels].
Tensor tone_of(const FieldOptions& field, std::size_t which) {
  const std::vector<float> levels(field.tones[which].begin(), field.tones[which].end());
  return Tensor::from<float>({field.channels}, levels);
}

// Each channel by its meaning.
std::optional<Tensor> redraw_levels(const Tensor& picture, const FitChoices& choices, const Watch& watch) {
  if (choices.prior) return redraw_by_prior(picture, *choices.prior, watch);
  // An interpolation of the samples, no finer than they are.
  if (choices.source == Source::point)
    return clamp(enlarged(picture, choices.lesson_scale, data::Filter::lanczos3), 0, 1);
  return redraw_by_rules(picture, choices.lesson_scale, choices.kind.style == Style::line, watch);
}

std::optional<Tensor> redraw_tones(const Tensor& picture, const FitChoices& choices, const Watch& watch) {
  const Tensor first = tone_of(choices.field, 0), way = tone_of(choices.field, 1) - first;
  const Tensor is_second = sum((picture - first) * way, {2}, true) / sum(square(way));
  const std::optional<Tensor> share = redraw_levels(is_second, choices, watch);
  if (!share) return std::nullopt;
  return first + clamp(*share, 0, 1) * way;
}

std::optional<Tensor> taught(const Tensor& picture, const FitChoices& choices, const Watch& watch) {
  if (!choices.field.tones.empty()) return redraw_tones(picture, choices, watch);
  if (!has_alpha(picture)) return redraw_levels(picture, choices, watch);
  const std::int64_t colours = picture.size(2) - 1;
  constexpr double kSeen = 2.0 / 3;  // for the channels that are redrawn
  std::optional<Tensor> alpha = redraw_levels(on_two_grounds(picture), choices, within(watch, 0, kSeen));
  if (!alpha) return std::nullopt;
  alpha = alpha_of(*alpha);
  const std::optional<Tensor> own =
      redraw_levels(contiguous(slice(picture, 2, 0, colours)), choices, within(watch, kSeen, 1));
  if (!own) return std::nullopt;
  return cat({*own, *alpha}, 2);
}

// The allowed means of the pixels. With two tones they are on their own tone's side of the middle.
Bounds bounds_of(const Tensor& picture, const FieldOptions& field) {
  if (field.tones.empty()) return {picture, picture};
  const Tensor other = tone_of(field, 0) + tone_of(field, 1) - picture;
  const Tensor limit = (picture + other) / 2 + (picture - other) * kMargin;
  return {.low = where(greater(picture, other), limit,
                       where(less(picture, other), full_like(picture, -1), picture)),
          .high = where(less(picture, other), limit,
                        where(greater(picture, other), full_like(picture, 2), picture))};
}

}  // namespace

FitChoices choices_of_lessons(const FitChoices& choices) {
  FitChoices out = choices;
  out.field.period = 1;
  out.field.width = choices.field.columns() * choices.lesson_scale;
  out.field.height = choices.field.rows() * choices.lesson_scale;
  if (choices.has_teacher()) out.field.footprint = 1;
  return out;
}

std::optional<Signal> lessons_of(const Signal& signal, const FitChoices& choices, const Watch& watch) {
  if (choices.field.period > 1) return Signal(squares_of(signal, choices.field.period));
  if (!choices.has_teacher()) return signal;
  NoGrad off;
  const std::optional<Tensor> redraw = taught(picture_of(signal), choices, watch);
  if (!redraw) return std::nullopt;
  pool(Device{}).trim();
  return Signal(*redraw);
}

Signal blank_lessons(const Signal& signal, const FitChoices& choices) {
  if (!choices.has_teacher() && choices.field.period == 1) return signal;
  const FieldOptions size = choices_of_lessons(choices).field;
  return Signal(zeros({size.height, size.width, size.channels}, DType::u8));
}

Beside beside_steps(const FitChoices& choices) {
  const FieldOptions& o = choices.field;
  const double levels =
      static_cast<double>(o.columns()) * static_cast<double>(o.rows()) * static_cast<double>(o.channels);
  Beside out{.held_bytes = 4 * levels};
  if (choices.closes == 0) return out;
  out.closing_bytes = levels * choices.closes * (o.bits > 8 ? 4 : 2);
  if (o.is_sound()) return out;
  const double samples = levels * choices.lesson_scale * choices.lesson_scale;
  // Rules, closing and judging take a few dozen rounds of a few dozen operations a sample each.
  constexpr double kTeacherRounds = 3000;
  // Transparent pictures are redrawn three times, with alpha from two backgrounds.
  const double of_levels =
      o.channels % 2 == 0 ? 3 * static_cast<double>(o.channels - 1) / static_cast<double>(o.channels) : 1;
  const double teacher =
      of_levels * (choices.prior ? 2 * static_cast<double>(choices.prior->parameter_count()) * levels *
                                       turns_for(o.width * o.height)
                                 : kTeacherRounds * samples);
  out.flops = (choices.has_teacher() ? teacher : 0) + kTeacherRounds * samples * (choices.judge ? 2 : 1);
  out.held_bytes += choices.has_teacher() ? 4 * samples : 0;
  // The closing holds the field's levels, itself, their sum and the differences; judging transparent pictures
  // holds them on two backgrounds.
  out.peak_bytes = out.held_bytes + 4 * (of_levels > 1 && choices.judge ? 6 : 4) * samples;
  return out;
}

std::optional<double> expected_gain(const Field& field, const Signal& signal, const FitChoices& choices,
                                    const Signal& lessons, const Watch& watch) {
  if (!choices.judge) return std::nullopt;
  NoGrad off;
  const std::int64_t height = signal.rows() * Prior::kScale, width = signal.columns() * Prior::kScale;
  const Tensor drawn = empty({height, width, signal.channels()});
  const bool has_its_redraw = choices.has_teacher() && choices.prior == choices.judge;
  const double drawing = has_its_redraw ? 1.0 : 0.5;
  bool is_whole = true;
  field.render_bands({width, height}, {}, [&](const Tensor& rows, std::int64_t first) {
    slice(drawn, 0, first, first + rows.size(0)).assign(rows);
    is_whole = watch(drawing * static_cast<double>(first + rows.size(0)) / static_cast<double>(height));
    return is_whole;
  });
  if (!is_whole) return std::nullopt;
  FitChoices taught_choices = choices;
  taught_choices.prior = choices.judge;
  const std::optional<Tensor> redraw =
      has_its_redraw ? lessons.samples()
                     : taught(picture_of(signal), taught_choices, within(watch, drawing, 1));
  if (!redraw) return std::nullopt;
  pool(Device{}).trim();
  return expected_gain(signal, *choices.judge, *redraw, drawn);
}

Closing closing_for(const Field& field, const Signal& signal, const FitChoices& choices, const Heard& heard) {
  if (choices.closes == 0) return {};
  heard(0);  // before the first drawing, which takes long for what is large
  if (signal.is_sound()) return close_sound(signal, field);
  const Tensor picture =
      choices.field.squares ? squares_of(signal, choices.field.period) : picture_of(signal);
  const auto most = static_cast<double>((1 << signal.bits()) - 1);
  constexpr double kDrawing = 0.4;  // the approximate share of the time for drawing
  const Tensor levels =
      field.open_levels(choices.field.footprint, [&](double part) { heard(kDrawing * part); });
  pool(Device{}).trim();
  return close(bounds_of(picture, choices.field), levels,
               choices.field.squares ? Tensor() : flat_ground(picture), kRest / most,
               signal.bits() > 8 ? DType::f32 : DType::f16,
               [&](double part) { heard(kDrawing + (1 - kDrawing) * part); });
}

}  // namespace veldt::field
