// veldt eval: measures a trained network on data.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>

#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/app/recipe_files.h"
#include "veldt/cli/terminal.h"
#include "veldt/app/verbs.h"
#include "veldt/recipe/measure.h"
#include "veldt/tensor/backends.h"

namespace veldt::app {
namespace {

struct EvalFlags {
  std::string model, data, part = "test", device = "auto", drawing;
};

int evaluate_model(EvalFlags flags, Context& context) {
  recipe::Trained trained = recipe::load(flags.model);
  flags.data = data_folder(trained.recipe, flags.data, context);
  trained.to(choose_device(flags.device).device);
  const recipe::Measured measured =
      recipe::measure(trained, flags.data, {.part = flags.part, .drawing = flags.drawing});
  nlohmann::ordered_json out = {
      {"model", flags.model}, {"part", flags.part}, {"examples", measured.examples}};
  for (const auto& [name, value] : measured.scores) out[name] = value;
  if (context.json) {
    context.out.json(out);
    return kOk;
  }
  context.out.text(fmt::format("{}: {} examples of the {} part\n", on_one_line(flags.model),
                               measured.examples, flags.part));
  for (const auto& [name, value] : measured.scores)
    context.out.text(fmt::format("{:<18} {:.5g}\n", name, value));
  return kOk;
}

}  // namespace

Run add_eval(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<EvalFlags>();
  add_path(verb, "MODEL", flags->model, "what veldt train wrote: a model.safetensors, or the folder of a run")
      .required();
  add_path(verb, "--data", flags->data,
           "the folder that data.path starts from; without it the recipe's files are downloaded");
  add_choice(verb, "--part", flags->part, {"test", "validation", "train"}, "which part of the data");
  add_path(verb, "--draw", flags->drawing, "for a series: draw forecast and truth here (.svg)");
  add_device(verb, flags->device);
  add_threads(verb, context);
  verb.examples(
      "  veldt eval runs/mnist --data data\n"
      "  veldt eval runs/airline --data data --json\n");
  return [flags, &context] { return evaluate_model(*flags, context); };
}

}  // namespace veldt::app
