// veldt eval: measures a trained network on data.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "veldt/app/exit.h"
#include "veldt/app/option_tree.h"
#include "veldt/app/recipe_files.h"
#include "veldt/app/terminal.h"
#include "veldt/app/verbs.h"
#include "veldt/io/file.h"
#include "veldt/recipe/forecast.h"
#include "veldt/recipe/trained.h"
#include "veldt/recipe/trainer.h"
#include "veldt/tensor/backends.h"

namespace veldt::app {
namespace {

struct EvalFlags {
  std::string model, data, part = "test", device = "auto", drawing;
};

// The random choice of the examples held back depends on their number: with another number, the part would
// contain some that the network learned from.
void check_examples(const recipe::Recipe& recipe, const recipe::Facts& trained, const recipe::Facts& found,
                    const EvalFlags& flags) {
  const bool in_order = recipe.kind == "text" || recipe.kind == "series";
  const bool is_drawn = !in_order && (recipe.test > 0 || (recipe.validation > 0 && flags.part != "test"));
  if (!is_drawn || trained.examples == 0 || found.examples == trained.examples) return;
  throw IoError(IoError::Kind::malformed,
                fmt::format("the data in {} are not those that the network was trained on", flags.data),
                fmt::format("there are {} examples and there were {}, so its {} part cannot be separated "
                            "from what it learned from",
                            found.examples, trained.examples, flags.part),
                "give the data as they were, or train again");
}

int evaluate_model(EvalFlags flags, Context& context) {
  recipe::Trained trained = recipe::load(flags.model);
  const recipe::Recipe& recipe = trained.recipe;
  flags.data = data_folder(recipe, flags.data, context);
  const recipe::Data data = recipe::load_data(recipe, flags.data, &trained.facts);
  if (!flags.drawing.empty() && (recipe.kind != "series" || flags.part != "test"))
    throw UsageError("there is no forecast to draw", "--draw is for the test part of a series",
                     "leave it out");
  if (data.facts.classes != trained.facts.classes)
    throw IoError(IoError::Kind::malformed, fmt::format("the data in {} have other classes", flags.data),
                  fmt::format("they are {}, but the network knows {}", fmt::join(data.facts.classes, ", "),
                              fmt::join(trained.facts.classes, ", ")),
                  "give data with the classes it was trained on");
  if (data.facts.model.input != trained.facts.model.input ||
      data.facts.model.outputs != trained.facts.model.outputs)
    throw IoError(IoError::Kind::malformed,
                  fmt::format("the data in {} are not of the network's kind", flags.data),
                  str("it takes ", trained.facts.model.input, " and has ", trained.facts.model.outputs,
                      " outputs; they are ", data.facts.model.input, " of ", data.facts.model.outputs),
                  "give the data it was trained on, or others of that form");
  check_examples(recipe, trained.facts, data.facts, flags);
  const data::DatasetPtr set = flags.part == "test"         ? data.test
                               : flags.part == "validation" ? data.validation
                                                            : data.train;
  if (set == nullptr)
    throw UsageError(fmt::format("there is no {} part", flags.part), "the recipe sets none aside",
                     "name another one with --part");
  trained.model.to(choose_device(flags.device).device);
  const auto optimizer = recipe::optimizer_of(recipe, trained.model);  // a Trainer has one
  train::Trainer trainer(trained.model, *optimizer, recipe::trainer_options_of(recipe, trained.facts));
  std::optional<data::Loader> loader = recipe::measuring_loader(recipe, data, set);
  train::Scores scores = trainer.evaluate(*loader);
  if (recipe.kind == "series" && flags.part == "test")
    for (const auto& score :
         recipe::draw_forecast(recipe, trained.facts, trainer, loader, flags.data, flags.drawing, "eval"))
      scores.push_back(score);
  nlohmann::ordered_json out = {{"model", flags.model}, {"part", flags.part}, {"examples", set->size()}};
  for (const auto& [name, value] : scores) out[name] = value;
  if (context.json) {
    context.out.json(out);
    return kOk;
  }
  context.out.text(
      fmt::format("{}: {} examples of the {} part\n", on_one_line(flags.model), set->size(), flags.part));
  for (const auto& [name, value] : scores) context.out.text(fmt::format("{:<18} {:.5g}\n", name, value));
  return kOk;
}

}  // namespace

Run add_eval(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<EvalFlags>();
  add_path(verb, "MODEL", flags->model, "a model.safetensors that veldt train wrote").required();
  add_path(verb, "--data", flags->data,
           "the folder that data.path starts from; without it the recipe's files are downloaded");
  add_choice(verb, "--part", flags->part, {"test", "validation", "train"}, "which part of the data");
  add_path(verb, "--draw", flags->drawing, "for a series: draw forecast and truth here (.svg)");
  add_device(verb, flags->device);
  add_threads(verb, context);
  verb.examples(
      "  veldt eval runs/mnist/model.safetensors --data data\n"
      "  veldt eval runs/airline/model.safetensors --data data --json\n");
  return [flags, &context] { return evaluate_model(*flags, context); };
}

}  // namespace veldt::app
