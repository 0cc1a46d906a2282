// Turns the keys of [prune] into a pruner's options: shares of a run into steps.
#include "veldt/recipe/pruning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"

namespace veldt::recipe {
namespace {

// The line of a key of [prune], or its name alone.
std::string place_of(const Written& written, const char* key) {
  return written.given() ? written.where : key;
}

}  // namespace

void read_pattern(const io::Source& source, const std::string& text, compress::PruneOptions& into) {
  constexpr std::int64_t kMostOf = 1024;
  const auto colon = text.find(':');
  const auto refuse = [&] {
    return UsageError(fmt::format("{} cannot be '{}'", source.name, text),
                      "it says how many of how many weights next to each other stay: at least one, and fewer "
                      "than there are",
                      "write, for example, 2:4");
  };
  if (colon == std::string::npos) throw refuse();
  const io::Source part{source.name, "", source.quoted};
  into.keep = io::count_from(part, text.substr(0, colon), {.least = 1, .most = kMostOf});
  into.of = io::count_from(part, text.substr(colon + 1), {.least = 2, .most = kMostOf});
  if (into.keep >= into.of) throw refuse();
}

void check_pruning(const Recipe& recipe) {
  const Pruning& p = recipe.pruning;
  for (const auto& [name, texts] : recipe.given)
    if (name.starts_with("prune.") && name != "prune.keep_zeros" && !p.given())
      throw UsageError(fmt::format("{} changes nothing", name), "the recipe prunes no weights",
                       "add share = 0.9 below [prune], or pattern = \"2:4\", or keep_zeros = true");
  if (!p.given()) return;
  compress::PruneOptions what;
  if (p.pattern.given()) {
    if (p.share > 0)
      throw UsageError(fmt::format("{} and prune.share contradict each other", p.pattern.where),
                       "a pattern says by itself how many weights stay", "leave out one of them");
    read_pattern(p.pattern.source(), p.pattern.texts.at(0), what);
  }
  if (p.cuts() && p.begin > p.end)
    throw UsageError(fmt::format("prune.end cannot be {}", p.end),
                     fmt::format("prune.begin is {}, and both are shares of the run", p.begin),
                     "give a later end");
  if (p.method == "movement" && p.keep_zeros)
    throw UsageError("prune.keep_zeros is not for movement pruning",
                     "by it any weight that has gone may come back",
                     "choose prune.method = \"magnitude\", or leave it out");
  if (recipe.ema > 0)
    throw UsageError("optimizer.ema is not for a recipe that prunes",
                     "averages of the weights would hold what has gone", "leave it out");
}

std::optional<compress::Pruner> pruner_of(const Recipe& recipe, const nn::Module& model, std::int64_t steps) {
  const Pruning& p = recipe.pruning;
  if (!p.given()) return std::nullopt;
  if (p.cuts() && steps == 0)
    throw UsageError("prune.end is a share of the run's steps",
                     "their number is not known: it is only limited by time",
                     "set train.epochs or train.steps");
  compress::PrunerOptions o;
  o.what.share = p.share;
  if (p.pattern.given()) read_pattern(p.pattern.source(), p.pattern.texts.at(0), o.what);
  if (p.scope == "layer") o.what.scope = compress::PruneScope::layer;
  if (p.method == "movement") o.method = compress::PruneMethod::movement;
  const auto step_at = [steps](double share) { return std::llround(share * static_cast<double>(steps)); };
  if (p.cuts()) o.begin = step_at(p.begin), o.end = p.pattern.given() ? o.begin : step_at(p.end);
  o.every = p.every > 0 ? p.every : std::max<std::int64_t>(steps / 100, 1);
  o.keep_zeros = p.keep_zeros;
  o.except = p.except.texts;
  try {
    return std::optional<compress::Pruner>(std::in_place, model, std::move(o));
  } catch (const ConfigError& e) {
    throw UsageError(fmt::format("{}: {}", place_of(p.except, "[prune]"), e.summary()), e.why(), e.fix());
  }
}

}  // namespace veldt::recipe
