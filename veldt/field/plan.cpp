// Fills in what the user left open, checks the whole, and writes a plan as JSON.
#include "veldt/field/plan.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "veldt/core/error.h"
#include "veldt/field/enum_names.h"
#include "veldt/field/recipe.h"
#include "veldt/io/json.h"

namespace veldt::field {
namespace {

constexpr EnumNames<3> kPrecisions = {"f32", "bf16", "tf32"};
constexpr EnumNames<3> kLosses = {"mse", "hinge", "bce"};
constexpr EnumNames<4> kOptimizers = {"sgd", "adam", "adamw", "muon"};
constexpr EnumNames<2> kSchedules = {"constant", "cosine"};
constexpr EnumNames<3> kSamplings = {"uniform", "stratified", "error"};

void check_number(const char* what, double value, double low, double high) {
  if (!std::isfinite(value) || value < low || value > high)
    throw ConfigError(str("the ", what, " cannot be ", value), str("it must be from ", low, " to ", high),
                      "choose a value within these bounds, or leave it out for a good one");
}

void check(const FitPlan& p, const Signal& signal) {
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
  check_number("number of steps", static_cast<double>(p.steps), 0, 1e12);
  check_number("time limit", p.seconds, 0, 1e9);
  check_number("target PSNR", p.target_psnr, 0, 1000);
  check_number("learning rate", p.lr, 1e-12, 1e3);
  check_number("epsilon", p.eps, 0, 1);
  check_number("epoch offset", static_cast<double>(p.epoch_offset), 0, 1e12);
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
    throw ConfigError("the style pixel does not go with another loss or a footprint",
                      "a square is compared by the mean square at its centre",
                      "leave the style or the other out");
  if (p.loss != Loss::mse && p.field.footprint > 1)
    throw ConfigError(str("the loss ", name_of(p.loss), " does not fit a footprint of ", p.field.footprint),
                      "the mean of several samples is compared with a pixel", "use mse, or a footprint of 1");
  if (p.steps == 0 && p.warmup > 0)
    throw ConfigError("a warm-up needs a number of steps", "this run is limited by time alone",
                      "give the steps as well, or leave the warm-up out");
  if (p.loss == Loss::hinge && !facts_of(signal).two_level)
    throw ConfigError("the hinge loss is for pictures of two levels", "this one has greys or colours",
                      "use the loss mse, or convert the picture to black and white");
  field::check(p.field);
}

}  // namespace

std::string_view name_of(Precision p) { return kPrecisions[static_cast<std::size_t>(p)]; }
std::string_view name_of(Loss l) { return kLosses[static_cast<std::size_t>(l)]; }
std::string_view name_of(OptimizerKind o) { return kOptimizers[static_cast<std::size_t>(o)]; }
std::string_view name_of(ScheduleKind s) { return kSchedules[static_cast<std::size_t>(s)]; }
std::string_view name_of(Sampling s) { return kSamplings[static_cast<std::size_t>(s)]; }
Precision precision_from(std::string_view name) {
  return enum_from<Precision>(kPrecisions, name, "precision");
}
Loss loss_from(std::string_view name) { return enum_from<Loss>(kLosses, name, "loss"); }
OptimizerKind optimizer_from(std::string_view name) {
  return enum_from<OptimizerKind>(kOptimizers, name, "optimizer");
}
ScheduleKind schedule_from(std::string_view name) {
  return enum_from<ScheduleKind>(kSchedules, name, "schedule");
}
Sampling sampling_from(std::string_view name) { return enum_from<Sampling>(kSamplings, name, "sampling"); }
std::vector<std::string> precision_names() { return in_a_list(kPrecisions); }
std::vector<std::string> loss_names() { return in_a_list(kLosses); }
std::vector<std::string> optimizer_names() { return in_a_list(kOptimizers); }
std::vector<std::string> schedule_names() { return in_a_list(kSchedules); }
std::vector<std::string> sampling_names() { return in_a_list(kSamplings); }

FitPlan plan_for(const Signal& signal, const FitOptions& w) {
  if (w.simba && signal.is_sound())
    throw ConfigError("the simba recipe does not fit a sound", "it is for pictures", "leave the preset out");
  FitPlan p = w.simba ? simba_plan() : recipe_for(signal, w);
  describe(signal, p.field);
  if (w.simba && w.model) set_model(p.field, *w.model);
  if (w.depth || w.width) {
    const auto depth = w.depth.value_or(static_cast<std::int64_t>(p.field.widths.size()));
    if (depth < 1 || depth > 64)
      throw ConfigError(str("the depth cannot be ", depth), "there are 1 to 64 hidden layers", "use 3 or 4");
    p.field.widths.assign(static_cast<std::size_t>(depth), w.width.value_or(p.field.widths.front()));
  }
  if ((w.first_omega || w.omega) && !takes_omega(p.field))
    throw ConfigError(str("the model ", name_of(model_of(p.field)), w.simba ? " of the simba preset" : "",
                          " takes no omega"),
                      "siren, finer, wire and gauss do, and tanh but for that of the simba preset",
                      "leave --omega and --hidden-omega out, or give one of these with --model");
  if (w.first_omega) p.field.first_omega = *w.first_omega;
  if (w.omega) p.field.omega = *w.omega;
  if (w.footprint) p.field.footprint = *w.footprint;
  if (w.steps && *w.steps < 1)
    throw ConfigError(str("the number of steps cannot be ", *w.steps), "training needs at least one",
                      "give 1 step or more, or leave it out");
  // A time limit alone leaves the number of steps open: the rate then follows the clock.
  p.steps = w.steps.value_or(w.seconds > 0 ? 0 : p.steps);
  if (p.steps == 0) p.warmup = 0;  // a recipe's is a number of steps
  p.seconds = w.seconds;
  p.target_psnr = w.target_psnr;
  if (w.batch && *w.batch < 0)
    throw ConfigError(str("the batch cannot be ", *w.batch), "a step needs at least one pixel",
                      "give a batch of 1 or more, or 'full'");
  if (w.batch) p.batch = *w.batch;
  if (p.batch == 0) {  // all of it, each point once
    p.edge_share = 0;
    if (!w.footprint && !p.has_teacher()) p.field.footprint = 1;
  }
  const std::int64_t points =
      signal.points() * p.lesson_scale * p.lesson_scale / (p.field.period * p.field.period);
  if (p.batch == 0 || p.batch > points) p.batch = points;
  // Each point once.
  if (p.batch == points && p.sampling == Sampling::error && !w.sampling) p.sampling = Sampling::stratified;
  if (w.sampling) p.sampling = *w.sampling;
  if (p.sampling == Sampling::error) p.edge_share = 0;  // it finds the edges by itself
  if (w.optimizer)
    p.optimizer = *w.optimizer;
  else if (p.optimizer == OptimizerKind::muon && p.field.widths.size() < 2)
    p.optimizer = OptimizerKind::adam;  // a recipe's muon would find no matrix to turn
  if (w.lr) {
    p.lr_min *= *w.lr / p.lr;
    p.lr = *w.lr;
  }
  if (w.schedule) p.schedule = *w.schedule;
  if (w.warmup) p.warmup = *w.warmup;
  if (w.epoch_offset) p.epoch_offset = *w.epoch_offset;
  if (w.loss) p.loss = *w.loss;
  const bool goes_in_bf16 = !w.simba && !signal.is_sound() && has_products(w.device, Precision::bf16) &&
                            is_fused_mlp(layer_sizes(p.field));
  p.precision = w.precision.value_or(goes_in_bf16 ? Precision::bf16 : Precision::f32);
  if (p.loss != Loss::mse && !w.footprint) p.field.footprint = 1;
  if (p.loss == Loss::bce && p.field.head == Head::clamp) p.field.head = Head::sigmoid;
  if (p.has_teacher())
    p.prior = p.source == Source::point ? nullptr : p.field.tones.empty() ? w.prior : w.tone_prior;
  p.seed = w.seed;
  p.device = w.device;
  check(p, signal);
  return p;
}

std::string to_json(const FitPlan& p) {
  using nlohmann::json;
  json out{{"field", io::parse_json<json>(to_json(p.field))},
           {"steps", p.steps},
           {"seconds", p.seconds},
           {"target_psnr", p.target_psnr},
           {"batch", p.batch},
           {"edge_share", p.edge_share},
           {"optimizer", name_of(p.optimizer)},
           {"lr", p.lr},
           {"lr_min", p.lr_min},
           {"schedule", name_of(p.schedule)},
           {"warmup", p.warmup},
           {"epoch_offset", p.epoch_offset},
           {"loss", name_of(p.loss)},
           {"seed", p.seed}};
  // Left out where it is what it always was, so that plans of earlier versions compare equal.
  if (p.has_teacher()) out["teacher"] = p.prior ? "prior" : p.source == Source::point ? "lanczos3" : "rules";
  if (p.has_teacher() || p.field.squares) out["style"] = name_of(p.kind.style);
  if (p.eps != FitPlan().eps) out["eps"] = p.eps;
  if (p.between_share != 0) out["between_share"] = p.between_share;
  if (p.precision != FitPlan().precision) out["precision"] = name_of(p.precision);
  // Points between the samples were once drawn in another way, by plans that say nothing of their sampling.
  if (p.sampling != FitPlan().sampling || p.between_share != 0) out["sampling"] = name_of(p.sampling);
  if (p.fixed_frequencies) out["fixed_frequencies"] = true;
  return io::dump_json(out);
}

}  // namespace veldt::field
