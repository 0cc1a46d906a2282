// Measures a trained network on a part of its data, after checking that they are those.
#include "veldt/recipe/measure.h"

#include <fmt/format.h>

#include <optional>

#include "veldt/data/augment.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/forecast.h"
#include "veldt/recipe/trainer.h"

namespace veldt::recipe {
namespace {

// The random choice of the examples held back depends on their number: with another number, the part would
// contain some that the network learned from.
void check_examples(const Trained& trained, const Facts& found, const std::string& folder,
                    const std::string& part) {
  const Recipe& recipe = trained.recipe;
  const bool in_order = recipe.kind == "text" || recipe.kind == "series";
  const bool is_drawn = !in_order && (recipe.test > 0 || (recipe.validation > 0 && part != "test"));
  if (!is_drawn || trained.facts.examples == 0 || found.examples == trained.facts.examples) return;
  throw IoError(IoError::Kind::malformed,
                fmt::format("the data in {} are not those that the network was trained on", folder),
                fmt::format("there are {} examples and there were {}, so its {} part cannot be separated "
                            "from what it learned from",
                            found.examples, trained.facts.examples, part),
                "give the data as they were, or train again");
}

// Whether the data have the classes, the form and the number that the network was trained on.
void check_data(const Trained& trained, const Facts& found, const std::string& folder,
                const std::string& part) {
  const Facts& facts = trained.facts;
  if (found.classes != facts.classes)
    throw IoError(IoError::Kind::malformed, fmt::format("the data in {} have other classes", folder),
                  fmt::format("they are {}, but the network knows {}", fmt::join(found.classes, ", "),
                              fmt::join(facts.classes, ", ")),
                  "give data with the classes it was trained on");
  if (found.model.input != facts.model.input || found.model.outputs != facts.model.outputs ||
      found.model.target != facts.model.target)
    throw IoError(IoError::Kind::malformed,
                  fmt::format("the data in {} are not of the network's kind", folder),
                  str("it takes ", facts.model.input, " and has ", facts.model.outputs, " outputs; they are ",
                      found.model.input, " of ", found.model.outputs),
                  "give the data it was trained on, or others of that form");
  check_examples(trained, found, folder, part);
}

data::DatasetPtr part_of(const Data& data, const std::string& part) {
  const data::DatasetPtr set = part == "test"         ? data.test
                               : part == "validation" ? data.validation
                               : part == "train"      ? data.train
                                                      : nullptr;
  if (set == nullptr)
    throw UsageError(fmt::format("there is no {} part", part), "the recipe sets none aside",
                     fmt::format("name another part, --part train, say, or hold one back by data.{}", part));
  return set;
}

// Those of --corrupt, before there are data.
void check_given(const Recipe& recipe, const Written& corruptions) {
  if (corruptions.texts.empty()) return;
  if (!recipe.is_of_pictures() || recipe.denoises())
    throw UsageError(
        fmt::format("{} cannot be '{}'", corruptions.where, corruptions.texts[0]),
        fmt::format("it changes pictures that have classes, and the data are of the kind '{}'", recipe.kind),
        "leave it out");
  transforms_of(corruptions);
}

data::Transform corruption_of(const Written& corruptions, std::size_t which) {
  return transforms_of({{corruptions.texts.at(which)}, corruptions.where});
}

}  // namespace

void check_corruptions(const data::DatasetPtr& test, const Written& corruptions) {
  if (corruptions.texts.empty()) return;
  if (test == nullptr)
    throw UsageError(fmt::format("{} has nothing to measure", corruptions.where), "there is no test set",
                     "hold one back by data.test, or leave it out");
  const data::Example first = test->get(0);
  for (std::size_t i = 0; i < corruptions.texts.size(); ++i) {
    Rng rng(0);
    const Shape was = first.at(0).shape();
    const Shape is = corruption_of(corruptions, i)(first, rng).at(0).shape();
    if (is != was)
      throw UsageError(fmt::format("{} cannot be '{}'", corruptions.where, corruptions.texts[i]),
                       str("it turns pictures of ", was, " into ", is), "give one that keeps their size");
  }
}

train::Scores corrupted_scores(train::Trainer& trainer, const Recipe& recipe, const Data& data,
                               const data::DatasetPtr& set, const Written& corruptions, std::size_t which,
                               std::uint64_t seed) {
  const data::Transform corrupt = corruption_of(corruptions, which);
  Data other = data;
  other.prepare = data.prepare ? data::sequence({corrupt, data.prepare}) : corrupt;
  data::Loader loader = measuring_loader(recipe, other, set, seed);
  return trainer.evaluate(loader);
}

Measured measure(Trained& trained, const std::string& folder, const MeasureOptions& options) {
  const Recipe& recipe = trained.recipe;
  const Written corruptions{options.corruptions, "--corrupt"};
  check_given(recipe, corruptions);
  const Data data = load_data(recipe, folder, &trained.facts);
  const bool is_forecast = recipe.kind == "series" && options.part == "test";
  if (!options.drawing.empty() && !is_forecast)
    throw UsageError("there is no forecast to draw", "only that of the test part of a series can be drawn",
                     "leave it out");
  check_data(trained, data.facts, folder, options.part);
  const data::DatasetPtr set = part_of(data, options.part);
  check_corruptions(set, corruptions);
  const auto optimizer = optimizer_of(recipe, trained.model);  // a Trainer has one
  train::Trainer trainer(trained.model, *optimizer, trainer_options_of(recipe, trained.facts));
  std::optional<data::Loader> loader = measuring_loader(recipe, data, set);
  Measured found{trainer.evaluate(*loader), set->size()};
  for (std::size_t i = 0; i < corruptions.texts.size(); ++i)
    found.corrupted.push_back(corrupted_scores(trainer, recipe, data, set, corruptions, i, options.seed));
  if (!is_forecast) return found;
  for (const auto& score :
       draw_forecast(recipe, trained.facts, trainer, loader, folder, options.drawing, "eval"))
    found.scores.push_back(score);
  return found;
}

}  // namespace veldt::recipe
