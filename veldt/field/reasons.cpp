// Lists the choices of a fit with the reasons that were given when they were made.
#include "veldt/field/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace veldt::field {
namespace {

std::string text_of_widths(const std::vector<std::int64_t>& w) {
  const bool is_one = std::all_of(w.begin(), w.end(), [&](std::int64_t units) { return units == w[0]; });
  return is_one ? fmt::format("{}", w[0]) : fmt::format("{}", fmt::join(w, ","));
}

}  // namespace

std::vector<Reason> reasons_of(const FitChoices& choices) {
  const FieldOptions& field = choices.field;
  std::vector<Reason> all;
  const auto add = [&](const char* choice, std::string value) {
    const auto why = choices.reasons.find(choice);
    all.push_back({choice, std::move(value), why == choices.reasons.end() ? "" : why->second});
  };
  add("kind", std::string(field.is_sound() ? "sound" : field.is_clip() ? "clip" : in_words(choices.kind)));
  add("model", std::string(name_of(model_of(field))));
  if (!field.widths.empty()) {
    add("width", text_of_widths(field.widths));
    add("depth", fmt::format("{}", field.widths.size()));
  }
  for (const EncodingOptions& encoding : field.encodings)
    if (const auto* grid = std::get_if<GridOptions>(&encoding))
      add("grid", fmt::format("{} x {}", grid->levels, grid->features));
    else if (const auto* waves = std::get_if<FourierOptions>(&encoding))
      add("sigma", fmt::format("{:.4g}", waves->sigma));
  if (field.encodings.empty() && takes_omega(field)) {
    add("first-omega", fmt::format("{:.4g}", field.first_omega));
    add("omega", fmt::format("{:.4g}", field.omega));
  }
  add("batch", fmt::format("{}", choices.batch));
  add("sampling", std::string(name_of(choices.sampling)));
  if (choices.edge_share > 0) add("edges", fmt::format("{:g}", choices.edge_share));
  if (choices.between_share > 0) add("between", fmt::format("{:g}", choices.between_share));
  if (!field.is_sound()) add("footprint", fmt::format("{}", field.footprint));
  if (choices.has_teacher())
    add("teacher", choices.prior ? "prior" : choices.source == Source::point ? "lanczos3" : "rules");
  add("optimizer", std::string(name_of(choices.optimizer)));
  add("lr", fmt::format("{:.4g}", choices.lr));
  add("schedule", std::string(name_of(choices.schedule)));
  add("loss", std::string(name_of(choices.loss)));
  add("precision", std::string(name_of(choices.precision)));
  if (choices.steps > 0) add("steps", fmt::format("{}", choices.steps));
  if (field.is_sound() && choices.closes > 0) add("closing", "exact");
  return all;
}

}  // namespace veldt::field
