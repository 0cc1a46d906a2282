// Names what a plan chooses from, and writes a plan as JSON.
#include "veldt/field/plan.h"

#include <nlohmann/json.hpp>

#include "veldt/field/enum_names.h"
#include "veldt/io/json.h"

namespace veldt::field {
namespace {

constexpr EnumNames<3> kPrecisions = {"f32", "bf16", "tf32"};
constexpr EnumNames<3> kLosses = {"mse", "hinge", "bce"};
constexpr EnumNames<4> kOptimizers = {"sgd", "adam", "adamw", "muon"};
constexpr EnumNames<2> kSchedules = {"constant", "cosine"};
constexpr EnumNames<3> kSamplings = {"uniform", "stratified", "error"};

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
