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

// Where errors say that it came from.
Written corruption_of(const std::string& text) { return {{text}, "--corrupt"}; }

void check_corruptions(const Recipe& recipe, const MeasureOptions& options) {
  if (options.corruptions.empty()) return;
  if (!recipe.is_of_pictures() || recipe.denoises())
    throw UsageError(
        fmt::format("--corrupt cannot be '{}'", options.corruptions[0]),
        fmt::format("it changes pictures that have classes, and the data are of the kind '{}'", recipe.kind),
        "leave it out");
  for (const std::string& text : options.corruptions) transforms_of(corruption_of(text));
}

// The data with pictures that are corrupted before they are prepared.
Data corrupted(const Data& data, const data::DatasetPtr& set, const std::string& text) {
  const data::Transform corrupt = transforms_of(corruption_of(text));
  const data::Example first = set->get(0);
  Rng rng(0);
  if (const Shape is = corrupt(first, rng).at(0).shape(), was = first.at(0).shape(); is != was)
    throw UsageError(fmt::format("--corrupt cannot be '{}'", text),
                     str("it turns pictures of ", was, " into ", is), "give one that keeps their size");
  Data other = data;
  other.prepare = data.prepare ? data::sequence({corrupt, data.prepare}) : corrupt;
  return other;
}

}  // namespace

Measured measure(Trained& trained, const std::string& folder, const MeasureOptions& options) {
  const Recipe& recipe = trained.recipe;
  check_corruptions(recipe, options);
  const Data data = load_data(recipe, folder, &trained.facts);
  const bool is_forecast = recipe.kind == "series" && options.part == "test";
  if (!options.drawing.empty() && !is_forecast)
    throw UsageError("there is no forecast to draw", "only that of the test part of a series can be drawn",
                     "leave it out");
  check_data(trained, data.facts, folder, options.part);
  const data::DatasetPtr set = part_of(data, options.part);
  const auto optimizer = optimizer_of(recipe, trained.model);  // a Trainer has one
  train::Trainer trainer(trained.model, *optimizer, trainer_options_of(recipe, trained.facts));
  std::optional<data::Loader> loader = measuring_loader(recipe, data, set);
  Measured found{trainer.evaluate(*loader), set->size()};
  for (const std::string& text : options.corruptions) {
    data::Loader bad = measuring_loader(recipe, corrupted(data, set, text), set, options.seed);
    found.corrupted.push_back(trainer.evaluate(bad));
  }
  if (!is_forecast) return found;
  for (const auto& score :
       draw_forecast(recipe, trained.facts, trainer, loader, folder, options.drawing, "eval"))
    found.scores.push_back(score);
  return found;
}

}  // namespace veldt::recipe
