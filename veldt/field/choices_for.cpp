// Fills in the options that the user left open, and checks all choices.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>

#include "veldt/core/error.h"
#include "veldt/field/choose.h"
#include "veldt/field/choices.h"
#include "veldt/field/automatic.h"
#include "veldt/field/field.h"

namespace veldt::field {
namespace {

void check_number(const char* what, double value, double low, double high) {
  if (!std::isfinite(value) || value < low || value > high)
    throw ConfigError(str("the ", what, " cannot be ", value), str("it must be from ", low, " to ", high),
                      "choose a value within these bounds, or leave it out for a good one");
}

void check(const FitChoices& p, const Signal& signal, const Traits& traits) {
  if (!has_products(p.device, p.precision))
    throw DeviceError(str("cannot fit in ", name_of(p.precision), " on ", p.device),
                      p.precision == Precision::bf16 ? "the processor has neither AMX nor AVX512_BF16"
                                                     : "only the tensor cores of a GPU multiply tf32",
                      "use f32, or leave the precision out");
  if (p.precision != Precision::f32 && !is_fused_mlp(layer_sizes(p.field)))
    throw ConfigError(
        str("cannot fit this network in ", name_of(p.precision)),
        str(name_of(p.precision), " takes layers of at most 256 units, 32 of them, and 512 features"),
        "use f32, or a narrower network");
  if (signal.ranks() != nullptr && signal.ranks() != p.ranks)
    throw ConfigError("this signal is shared by ranks, and the fit is not on them",
                      "each rank has some of its rows, and they tell each other the levels of each batch",
                      "give the fit the same ranks, or read the whole signal");
  check_number("number of steps", static_cast<double>(p.steps), 0, 1e12);
  check_number("time limit", p.seconds, 0, 1e9);
  check_number("target PSNR", p.target_psnr, 0, 1000);
  check_number("learning rate", p.lr, 1e-12, 1e3);
  check_number("epsilon", p.eps, 0, 1);
  check_number("schedule offset", static_cast<double>(p.schedule_offset), 0, 1e12);
  check_number("number of warm-up steps", static_cast<double>(p.warmup), 0, 1e12);
  if (p.steps == 0 && p.seconds == 0)
    throw ConfigError("the number of steps cannot be 0", "training would never end or never begin",
                      "give 1 step or more, or a time limit");
  if (p.batch < 1)
    throw ConfigError(str("the batch cannot be ", p.batch), "a step needs at least one pixel",
                      "give a batch of 1 or more, or 'full'");
  if (signal.is_sound() && p.loss != Loss::mse)
    throw ConfigError(str("the loss ", name_of(p.loss), " does not fit a sound"),
                      "its samples have no bounds", "use the loss mse");
  if (p.loss == Loss::hinge && !(p.field.head == Head::clamp))
    throw ConfigError("the hinge loss does not fit this output", "it needs one between -1 and 1",
                      "use the loss mse or bce");
  if (p.field.squares && (p.loss != Loss::mse || p.field.footprint > 1))
    throw ConfigError("the style pixel cannot be combined with another loss or a footprint",
                      "a square is compared by the mean square at its centre",
                      "leave the style or the other out");
  if (p.loss != Loss::mse && p.field.footprint > 1)
    throw ConfigError(str("the loss ", name_of(p.loss), " does not fit a footprint of ", p.field.footprint),
                      "the mean of several samples is compared with a pixel", "use mse, or a footprint of 1");
  if (p.steps == 0 && p.warmup > 0)
    throw ConfigError("a warm-up needs a number of steps", "this run is limited by time alone",
                      "give the steps as well, or leave the warm-up out");
  if (p.loss == Loss::hinge && !traits.facts.two_level)
    throw ConfigError("the hinge loss is for pictures of two levels", "this one has greys or colours",
                      "use the loss mse, or convert the picture to black and white");
  field::check(p.field);
}

// Takes a wish as the choice.
template <class T, class W>
void grant(FitChoices& p, T& what, const std::optional<W>& wish, const char* name) {
  if (wish) p.choose(what, *wish, name, because::kAskedFor);
}

std::string what_it_is(const Signal& signal, const Traits& traits) {
  if (signal.is_clip())
    return fmt::format("{} frames in {:.3g} s; {}", signal.frames(), signal.seconds(),
                       signal.channels() == 1 ? "1 channel" : fmt::format("{} channels", signal.channels()));
  if (signal.is_sound())
    return fmt::format("{} frames at {} a second; 95 % of the energy below {:.0f} Hz", signal.rows(),
                       signal.rate(), traits.down.bandwidth * static_cast<double>(signal.rate()));
  return fmt::format("{}; {}; 95 % of the energy below {:.2g} cycles a pixel across, {:.2g} down",
                     traits.kind.reason,
                     signal.channels() == 1 ? "1 channel" : fmt::format("{} channels", signal.channels()),
                     traits.across.bandwidth, traits.down.bandwidth);
}

// The network of a field to begin with. What is drawn with it stays as chosen for the signal.
void take_network(FitChoices& p, const FitOptions& w) {
  const FieldOptions& o = w.init->options();
  if (w.simba || w.model || w.width || w.depth || w.first_omega || w.omega)
    throw ConfigError("a fit that begins with a model has its network",
                      "another was asked for too, by a preset, a model, a width, a depth or an omega",
                      "leave these out, or begin without a model");
  const auto what = [](const FieldOptions& of) {
    return of.is_sound() ? "a sound" : of.is_clip() ? "a clip" : "a picture";
  };
  if (o.dimensions != p.field.dimensions || o.channels != p.field.channels)
    throw ConfigError(str("cannot begin with a model of ", what(o), " of ", o.channels,
                          o.channels == 1 ? " channel" : " channels"),
                      str("this is ", what(p.field), " of ", p.field.channels),
                      "begin with a model of the same kind, or without one");
  if (o.squares != p.field.squares || o.tones.empty() != p.field.tones.empty())
    throw ConfigError(
        str("cannot begin with a model of the style ", o.squares         ? "pixel"
                                                       : o.tones.empty() ? "photo"
                                                                         : "drawing in two tones"),
        str("the style of this picture is ", name_of(p.kind.style), ", which is drawn otherwise"),
        "give both the same --style");
  p.field.activation = o.activation;
  p.field.widths = o.widths;
  p.field.first_omega = o.first_omega, p.field.omega = o.omega, p.field.scale = o.scale;
  p.field.encodings = o.encodings;
  p.field.bias = o.bias, p.field.constant_input = o.constant_input;
  p.field.head = o.head;
  p.field.coordinates = o.coordinates;
  p.field.time_scale = o.time_scale;
  p.init = w.init;
  for (const char* name : {"model", "width", "depth", "first-omega", "omega", "grid"}) p.reasons.erase(name);
  p.reasons["model"] = "the model to begin with has it, and its weights";
}

void grant_network(FitChoices& p, const FitOptions& w) {
  if (w.init) {
    take_network(p, w);
    return grant(p, p.field.footprint, w.footprint, "footprint");
  }
  if (w.simba && w.model) {
    choose_model(p, *w.model);
    p.reasons["model"] = because::kAskedFor;
    choose_omegas(p, p.field.first_omega, because::kUsual, p.field.omega, because::kUsual);
  }
  if (w.depth || w.width) {
    const auto depth = w.depth.value_or(static_cast<std::int64_t>(p.field.widths.size()));
    if (depth < 1 || depth > 64)
      throw ConfigError(str("the depth cannot be ", depth), "there are 1 to 64 hidden layers", "use 3 or 4");
    p.field.widths.assign(static_cast<std::size_t>(depth), w.width.value_or(p.field.widths.front()));
    if (w.depth) p.reasons["depth"] = because::kAskedFor;
    if (w.width) p.reasons["width"] = because::kAskedFor;
  }
  if ((w.first_omega || w.omega) && !takes_omega(p.field))
    throw ConfigError(str("the model ", name_of(model_of(p.field)), w.simba ? " of the simba preset" : "",
                          " takes no omega"),
                      "siren, finer, wire and gauss do, and tanh except in the simba preset",
                      "leave --first-omega and --omega out, or give one of these with --model");
  grant(p, p.field.first_omega, w.first_omega, "first-omega");
  grant(p, p.field.omega, w.omega, "omega");
  grant(p, p.field.footprint, w.footprint, "footprint");
}

void grant_end(FitChoices& p, const FitOptions& w) {
  if (w.steps && *w.steps < 1)
    throw ConfigError(str("the number of steps cannot be ", *w.steps), "training needs at least one",
                      "give 1 step or more, or leave it out");
  if (w.seconds > 0) p.steps = 0;  // a time limit alone leaves it open: the rate then follows the clock
  grant(p, p.steps, w.steps, "steps");
  if (p.steps == 0) p.warmup = 0;  // the automatic one is a number of steps
  p.seconds = w.seconds;
  p.target_psnr = w.target_psnr;
}

// The points that can be learned: the signal's, or those of a teacher's redraw.
std::int64_t points_of(const FitChoices& p, const Signal& signal) {
  return signal.points() * p.lesson_scale * p.lesson_scale / (p.field.period * p.field.period);
}

// The batch, and how its points are drawn.
void grant_points(FitChoices& p, const Signal& signal, const FitOptions& w) {
  if (w.batch && *w.batch < 0)
    throw ConfigError(str("the batch cannot be ", *w.batch), "a step needs at least one pixel",
                      "give a batch of 1 or more, or 'full'");
  grant(p, p.batch, w.batch, "batch");
  if (p.batch == 0) {  // all of it, each point once
    p.edge_share = 0;
    if (p.field.footprint > 1 && !w.footprint && !p.has_teacher())
      p.choose(p.field.footprint, 1, "footprint", because::kAtCentres);
  }
  const std::int64_t points = points_of(p, signal);
  if (p.batch == 0 || p.batch > points) p.batch = points;
  if (p.batch == points && !w.simba) {
    if (p.sampling == Sampling::error)
      p.choose(p.sampling, Sampling::stratified, "sampling", because::kAllPlaces);
    if (p.sampling == Sampling::uniform) p.reasons["sampling"] = "each once per step";
  }
  grant(p, p.sampling, w.sampling, "sampling");
  if (p.sampling == Sampling::error) p.edge_share = 0;  // it finds the edges by itself
}

void grant_optimizer(FitChoices& p, const FitOptions& w) {
  if (w.optimizer)
    grant(p, p.optimizer, w.optimizer, "optimizer");
  else if (p.optimizer == OptimizerKind::muon && p.field.widths.size() < 2)
    p.choose(p.optimizer, OptimizerKind::adam, "optimizer", "muon would find no matrix to orthogonalise");
  if (w.lr) p.lr_min *= *w.lr / p.lr;
  grant(p, p.lr, w.lr, "lr");
  grant(p, p.schedule, w.schedule, "schedule");
  grant(p, p.warmup, w.warmup, "warmup");
  grant(p, p.schedule_offset, w.schedule_offset, "schedule-offset");
}

void grant_loss(FitChoices& p, const FitOptions& w) {
  grant(p, p.loss, w.loss, "loss");
  if (p.loss != Loss::mse && p.field.footprint > 1 && !w.footprint)
    p.choose(p.field.footprint, 1, "footprint", because::kAtCentres);
  if (p.loss == Loss::bce && p.field.head == Head::clamp) p.field.head = Head::sigmoid;
}

void choose_precision(FitChoices& p, const Signal& signal, const FitOptions& w) {
  if (w.precision) return grant(p, p.precision, w.precision, "precision");
  if (w.simba) return;
  const bool is_fast = has_products(w.device, Precision::bf16);
  if (is_fast && !signal.is_sound() && is_fused_mlp(layer_sizes(p.field)))
    p.choose(p.precision, Precision::bf16, "precision",
             "this device multiplies bf16 fast, and sums it in f32");
  else
    p.choose(p.precision, Precision::f32, "precision",
             is_fast ? "bf16 has too few digits for it, or no kernels for its layers"
                     : "this processor is not fast at bf16");
}

void choose_teacher(FitChoices& p, const FitOptions& w) {
  if (p.source == Source::point) {
    p.reasons["teacher"] = "it passes through the levels in the middle of the pixels";
    return;
  }
  const bool is_of_tones = !p.field.tones.empty();
  p.choose(p.prior, is_of_tones ? w.tone_prior : w.prior, "teacher",
           is_of_tones ? "contours that separate the pixels of two tones"
           : w.prior
               ? "a network that learned from pictures how to fill in between pixels; a closing makes the "
                 "pixels exact"
               : "a redraw with sharp contours and flat grounds, whose averages are the pixels; a closing "
                 "makes them exact");
}

// Reasons that need all choices.
void say_what_follows(FitChoices& p, const Signal& signal) {
  const auto points = static_cast<double>(points_of(p, signal));
  const auto numbers = static_cast<double>(parameter_count(p.field));
  const double levels = points * static_cast<double>(signal.channels());
  p.reasons.try_emplace("width", fmt::format("{:.0f} numbers to learn {:.0f} levels, {:.2g} of them each",
                                             numbers, levels, numbers / levels));
  p.reasons.try_emplace(
      "schedule",
      fmt::format("the rate falls along half a cosine to {:.4g}, so that the last steps are small",
                  p.lr_min));
  p.reasons.try_emplace("steps",
                        fmt::format("each {} is seen {:.3g} times", point_of(p),
                                    static_cast<double>(p.steps) * static_cast<double>(p.batch) / points));
}

}  // namespace

FitChoices choices_for(const Signal& signal, const FitOptions& w) {
  if (w.simba && signal.is_sound())
    throw ConfigError("the simba preset does not fit a sound", "it is for pictures", "leave the preset out");
  if (signal.is_clip() && (w.simba || w.style))
    throw ConfigError(str(w.simba ? "the simba preset" : "a style", " does not fit a clip"),
                      "it is for pictures that stand still", "leave it out, or fit one frame");
  const Traits traits = traits_of(signal, w.style);
  FitOptions wishes = w;
  if (w.init) wishes.model = model_of(w.init->options());  // rates and the like are to suit its network
  FitChoices p = w.simba             ? simba_choices()
                 : signal.is_sound() ? automatic_sound(signal, wishes)
                 : signal.is_clip()  ? automatic_clip(signal, wishes)
                                     : automatic_picture(signal, traits, wishes);
  p.kind = traits.kind;
  p.reasons["kind"] = what_it_is(signal, traits);
  describe(signal, p.field);
  // In this order, because each depends on the ones before.
  grant_network(p, w);
  grant_end(p, w);
  grant_points(p, signal, w);
  grant_optimizer(p, w);
  grant_loss(p, w);
  choose_precision(p, signal, w);
  if (p.has_teacher()) choose_teacher(p, w);
  p.seed = w.seed;
  p.device = w.device;
  p.ranks = w.ranks;
  p.parts = w.parts;
  check(p, signal, traits);
  say_what_follows(p, signal);
  return p;
}

}  // namespace veldt::field
