// veldt eval: measures a trained network on data.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/app/recipe_files.h"
#include "veldt/cli/terminal.h"
#include "veldt/app/verbs.h"
#include "veldt/recipe/measure.h"
#include "veldt/recipe/trainer.h"
#include "veldt/tensor/backends.h"

namespace veldt::app {
namespace {

struct EvalFlags {
  std::string model, data, part = "test", device = "auto", drawing;
  std::vector<std::string> corrupt;
  std::int64_t seed = 1;
};

// How much worse `score` is than `clean`.
double lost(const recipe::Watched& watched, double clean, double score) {
  return watched.larger_is_better ? clean - score : score - clean;
}

nlohmann::ordered_json corrupted_in_json(const EvalFlags& flags, const recipe::Watched& watched,
                                         const recipe::Measured& measured) {
  const double clean = train::score(measured.scores, watched.name);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < flags.corrupt.size(); ++i) {
    nlohmann::ordered_json row = {{"corruption", flags.corrupt[i]}};
    for (const auto& [name, value] : measured.corrupted[i]) row[name] = value;
    row["lost"] = lost(watched, clean, train::score(measured.corrupted[i], watched.name));
    rows.push_back(row);
  }
  return rows;
}

// A line for the pictures as they are, for each corruption, and of several for their mean.
std::string corrupted_in_words(const EvalFlags& flags, const recipe::Watched& watched,
                               const recipe::Measured& measured) {
  const double clean = train::score(measured.scores, watched.name);
  std::size_t widest = 10;
  for (const std::string& text : flags.corrupt) widest = std::max(widest, on_one_line(text).size());
  const auto line = [&](const std::string& what, double score) {
    return fmt::format("{:<{}}  {:<{}.4f}  {:.4f}\n", what, widest, score,
                       std::max<std::size_t>(watched.name.size(), 6), lost(watched, clean, score));
  };
  std::string text = fmt::format("{:<{}}  {:<6}  lost\n{:<{}}  {:.4f}\n", "corruption", widest, watched.name,
                                 "none", widest, clean);
  double sum = 0;
  for (std::size_t i = 0; i < flags.corrupt.size(); ++i) {
    const double score = train::score(measured.corrupted[i], watched.name);
    text += line(on_one_line(flags.corrupt[i]), score);
    sum += score;
  }
  return flags.corrupt.size() < 2 ? text
                                  : text + line("mean", sum / static_cast<double>(flags.corrupt.size()));
}

int evaluate_model(EvalFlags flags, Context& context) {
  recipe::Trained trained = recipe::load(flags.model);
  flags.data = data_folder(trained.recipe, flags.data, context);
  trained.to(choose_device(flags.device).device);
  const recipe::Measured measured = recipe::measure(trained, flags.data,
                                                    {.part = flags.part,
                                                     .drawing = flags.drawing,
                                                     .corruptions = flags.corrupt,
                                                     .seed = static_cast<std::uint64_t>(flags.seed)});
  const recipe::Watched watched = recipe::watched_of(trained.recipe);
  nlohmann::ordered_json out = {
      {"model", flags.model}, {"part", flags.part}, {"examples", measured.examples}};
  for (const auto& [name, value] : measured.scores) out[name] = value;
  if (context.json) {
    if (!flags.corrupt.empty()) {
      out["score"] = watched.name;
      out["corrupted"] = corrupted_in_json(flags, watched, measured);
    }
    context.out.json(out);
    return kOk;
  }
  context.out.text(fmt::format("{}: {} examples of the {} part\n", on_one_line(flags.model),
                               measured.examples, flags.part));
  for (const auto& [name, value] : measured.scores)
    context.out.text(fmt::format("{:<18} {:.5g}\n", name, value));
  if (!flags.corrupt.empty()) context.out.text('\n' + corrupted_in_words(flags, watched, measured));
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
  add_texts(
      verb, "--corrupt", "NAME(STRENGTH)", flags->corrupt,
      "measure pictures once more, changed as data.augment says: shift(4), rotate(15), "
      "gaussian_noise(0.1), gaussian_blur(1), brightness(0.5), contrast(0.5), erase(8), jpeg(10); may be "
      "given several times")
      .command_line_only();
  add_count(verb, "--seed", flags->seed, {.least = 0}, "what --corrupt draws");
  add_device(verb, flags->device);
  add_threads(verb, context);
  verb.examples(
      "  veldt eval runs/mnist --data data\n"
      "  veldt eval runs/mnist --data data --corrupt 'shift(4)' --corrupt 'gaussian_noise(0.3)'\n"
      "  veldt eval runs/airline --data data --json\n");
  return [flags, &context] { return evaluate_model(*flags, context); };
}

}  // namespace veldt::app
