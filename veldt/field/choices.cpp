// The names of all choices, and the choices of a fit as JSON.
#include "veldt/field/choices.h"

#include <nlohmann/json.hpp>

#include "veldt/field/enum_names.h"
#include "veldt/io/json.h"

namespace veldt::field {
namespace {

constexpr auto kPrecisions = names_of<Precision>("f32", "bf16", "tf32");
constexpr auto kLosses = names_of<Loss>("mse", "hinge", "bce");
constexpr auto kOptimizers = names_of<OptimizerKind>("sgd", "adam", "adamw", "muon");
constexpr auto kSchedules = names_of<ScheduleKind>("constant", "cosine");
constexpr auto kSamplings = names_of<Sampling>("uniform", "stratified", "error");

}  // namespace

std::string_view name_of(Precision p) { return kPrecisions[p]; }
std::string_view name_of(Loss l) { return kLosses[l]; }
std::string_view name_of(OptimizerKind o) { return kOptimizers[o]; }
std::string_view name_of(ScheduleKind s) { return kSchedules[s]; }
std::string_view name_of(Sampling s) { return kSamplings[s]; }
Precision precision_from(std::string_view name) { return kPrecisions.at(name, "precision"); }
Loss loss_from(std::string_view name) { return kLosses.at(name, "loss"); }
OptimizerKind optimizer_from(std::string_view name) { return kOptimizers.at(name, "optimizer"); }
ScheduleKind schedule_from(std::string_view name) { return kSchedules.at(name, "schedule"); }
Sampling sampling_from(std::string_view name) { return kSamplings.at(name, "sampling"); }
std::vector<std::string> precision_names() { return kPrecisions.in_a_list(); }
std::vector<std::string> loss_names() { return kLosses.in_a_list(); }
std::vector<std::string> optimizer_names() { return kOptimizers.in_a_list(); }
std::vector<std::string> schedule_names() { return kSchedules.in_a_list(); }
std::vector<std::string> sampling_names() { return kSamplings.in_a_list(); }

std::string to_json(const FitChoices& p) {
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
           {"schedule_offset", p.schedule_offset},
           {"loss", name_of(p.loss)},
           {"seed", p.seed}};
  // Left out if it has the original value, so that choices of earlier versions compare equal.
  if (p.has_teacher()) out["teacher"] = p.prior ? "prior" : p.source == Source::point ? "lanczos3" : "rules";
  if (p.has_teacher() || p.field.squares) out["style"] = name_of(p.kind.style);
  if (p.eps != FitChoices().eps) out["eps"] = p.eps;
  if (p.between_share != 0) out["between_share"] = p.between_share;
  if (p.precision != FitChoices().precision) out["precision"] = name_of(p.precision);
  // Fits without this key drew the points between the samples in an older way.
  if (p.sampling != FitChoices().sampling || p.between_share != 0) out["sampling"] = name_of(p.sampling);
  if (p.fixed_frequencies) out["fixed_frequencies"] = true;
  return io::dump_json(out);
}

}  // namespace veldt::field
