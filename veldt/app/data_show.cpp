// veldt data show: the pictures that a recipe's network is shown, as one picture.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "veldt/cli/exit.h"
#include "veldt/app/inputs.h"
#include "veldt/cli/option_tree.h"
#include "veldt/app/recipe_files.h"
#include "veldt/cli/terminal.h"
#include "veldt/app/verbs.h"
#include "veldt/data/picture_grid.h"
#include "veldt/io/image.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/trainer.h"

namespace veldt::app {
namespace {

struct DataShowFlags {
  std::string recipe, data, output, part = "train";
  std::vector<std::string> sets;
  std::int64_t count = 64, columns = 8, epoch = 0;
  bool plain = false;
};

// The names of classes, in the places of their pictures.
std::string rows_of(const std::vector<std::string>& names, std::size_t columns) {
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool last = (i + 1) % columns == 0 || i + 1 == names.size();
    text += last ? names[i] + "\n" : fmt::format("{:<{}} ", names[i], width);
  }
  return text;
}

// "lion", or of mixed pictures "lion 0.7 cub 0.3".
std::string label_in_words(const Tensor& label, const std::vector<std::string>& classes) {
  if (label.rank() == 0) return on_one_line(classes.at(static_cast<std::size_t>(label.item())));
  std::string text;
  const std::vector<float> shares = label.values<float>();
  for (std::size_t c = 0; c < shares.size(); ++c)
    if (shares[c] > 0)
      text += fmt::format("{}{} {:.2g}", text.empty() ? "" : " ", on_one_line(classes.at(c)), shares[c]);
  return text;
}

// The part's loader without normalisation, so that pictures are shown in 0..1.
data::Loader loader_of(const DataShowFlags& flags, const recipe::Recipe& recipe, recipe::Data data) {
  if (!recipe.denoises()) data.prepare = recipe::fitting(recipe);
  if (flags.plain) data.augment = {}, data.mix = {};
  if (flags.part == "train") return recipe::training_loader(recipe, data);
  const data::DatasetPtr set = flags.part == "test" ? data.test : data.validation;
  if (set == nullptr)
    throw UsageError(fmt::format("there is no {} part", flags.part), "the recipe sets none aside",
                     "name another one with --part");
  return recipe::measuring_loader(recipe, data, set);
}

int data_show(const DataShowFlags& flags, Context& context) {
  check_output(flags.output, "--output", {flags.recipe}, context);
  const recipe::Recipe recipe = recipe::read(flags.recipe, flags.sets);
  if (!recipe.is_of_pictures())
    throw UsageError(fmt::format("there are no pictures in a {}", recipe.kind),
                     "only pictures can be drawn as a grid", "give a recipe that learns pictures");
  recipe::Data data = recipe::load_data(recipe, data_folder(recipe, flags.data, context));
  const std::vector<std::string> classes = data.facts.classes;
  data::Loader loader = loader_of(flags, recipe, std::move(data));
  std::vector<Tensor> pictures;
  std::vector<std::string> names;
  for (const data::Batch& batch : loader.epoch(flags.epoch)) {
    for (std::int64_t i = 0; i < batch[0].size(0) && std::ssize(pictures) < flags.count; ++i) {
      pictures.push_back(select(batch[0], 0, i));
      const Tensor target = select(batch[1], 0, i);
      names.push_back(recipe.denoises() ? "noisy" : label_in_words(target, classes));
      if (!recipe.denoises() || std::ssize(pictures) == flags.count) continue;
      pictures.push_back(target);
      names.emplace_back("clean");
    }
    if (std::ssize(pictures) == flags.count) break;
  }
  const Tensor grid = data::picture_grid(pictures, flags.columns);
  io::write_image(flags.output, grid);
  const std::int64_t examples = loader.set().size();
  if (context.json) {
    context.out.json({{"output", flags.output},
                      {"width", grid.size(1)},
                      {"height", grid.size(0)},
                      {"examples", examples},
                      {"classes", names}});
    return kOk;
  }
  context.out.text(fmt::format("wrote {}: {} of {} examples, {} x {} pixels\n{}", on_one_line(flags.output),
                               names.size(), examples, grid.size(1), grid.size(0),
                               rows_of(names, static_cast<std::size_t>(flags.columns))));
  return kOk;
}

}  // namespace

Run add_data(VerbOptions& verb, Context& context) {
  verb.app->require_subcommand(1);
  auto flags = std::make_shared<DataShowFlags>();
  VerbOptions& show = verb.add_verb("show", "draw what a network is shown");
  add_path(show, "RECIPE", flags->recipe, "a TOML file that learns pictures (docs/recipes.md)").required();
  add_path(show, "--data", flags->data,
           "the folder that data.path starts from; without it the recipe's files are downloaded");
  add_path(show, "-o,--output", flags->output,
           fmt::format("where the picture goes ({})", io::kWrittenPictures))
      .required();
  add_texts(show, "--set", "KEY=VALUE", flags->sets, "another value for a key of the recipe")
      .command_line_only();
  add_choice(show, "--part", flags->part, {"train", "validation", "test"}, "which part of the data");
  add_switch(show, "--plain", flags->plain, "without augmentation").command_line_only();
  add_count(show, "--epoch", flags->epoch, {.least = 0, .most = 1'000'000},
            "the epoch whose first pictures are shown");
  add_count(show, "--count", flags->count, {.least = 1, .most = 1024}, "how many pictures");
  add_count(show, "--columns", flags->columns, {.least = 1, .most = 1024}, "how many in a row");
  show.examples(
      "  veldt data show recipes/mnist_augmented.toml -o seen.png\n"
      "  veldt data show recipes/mnist_augmented.toml -o plain.png --plain --count 100 --columns 20\n"
      "  veldt data show recipes/mnist.toml --data data -o test.png --part test\n");
  verb.examples("  veldt data show recipes/mnist_augmented.toml -o seen.png\n");
  show.run = [flags, &context] { return data_show(*flags, context); };
  return {};
}

}  // namespace veldt::app
