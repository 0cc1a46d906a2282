// Puts a training together: data, network, first weights, optimizer, loaders.
#include "veldt/app/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "veldt/cli/terminal.h"
#include "veldt/compress/quantize.h"
#include "veldt/core/error.h"
#include "veldt/recipe/distilling.h"
#include "veldt/recipe/known.h"
#include "veldt/recipe/measure.h"
#include "veldt/recipe/pruning.h"
#include "veldt/recipe/resizing.h"
#include "veldt/recipe/trainer.h"
#include "veldt/recipe/whitening.h"

namespace veldt::app {
namespace {

// What a model file holds, as the state of a network that may learn for other integers than the file's did:
// ranges of inputs (train.quantize) are taken over where both have them, and begin anew where `model` alone
// does.
NamedTensors state_for(nn::Module& model, nn::Module& start) {
  const auto ranges_in = [](nn::Module& network) {
    std::map<std::string, Tensor> ranges;
    for (const compress::PlacedWeight& w : compress::weights_of(network))
      if (w.part.weight->simulated_range().defined())
        ranges.emplace(w.name + "_range", w.part.weight->simulated_range());
    return ranges;
  };
  const auto wanted = ranges_in(model), given = ranges_in(start);
  NamedTensors state = start.state_dict();
  std::erase_if(state,
                [&](const NamedTensor& t) { return given.contains(t.name) && !wanted.contains(t.name); });
  for (const auto& [name, range] : wanted)
    if (!given.contains(name)) state.push_back({name, range});
  return state;
}

// The values that the network learns on from: those of a model file, or what its recipe begins with.
void begin_weights(const Taught& taught, const recipe::Data& data, nn::Graph& model) {
  if (!taught.start) {
    recipe::begin_known(taught.recipe, model);
    recipe::begin_whitening(taught.recipe, data, model);
    return;
  }
  recipe::Recipe as_frozen = taught.recipe;
  as_frozen.from.clear();  // the model has learned since
  recipe::begin_known(as_frozen, model);
  try {
    nn::Graph start = taught.start->model;
    model.load_state_dict(state_for(model, start));
  } catch (const Error& e) {
    throw UsageError(fmt::format("{} cannot be taught further like this", taught.path),
                     fmt::format("its weights do not fit the network: {}", e.why()),
                     "leave layers with weights where they are, of the sizes they have, and give data with "
                     "the same classes");
  }
}

}  // namespace

Taught recipe_or_model(const std::string& path, const std::vector<std::string>& sets) {
  const std::filesystem::path file(path);
  std::error_code ignored;
  if (file.extension() != ".safetensors" && !std::filesystem::is_directory(file, ignored))
    return {recipe::read(path, sets)};
  recipe::Trained start = recipe::load(path);
  if (!start.quantization.empty())
    throw UsageError(fmt::format("{} cannot be taught further", cli::on_one_line(path)),
                     "it is quantised, and integers are not trained",
                     "teach the network of floats that it was made of, and quantise it again");
  recipe::Recipe recipe = recipe::changed(start.recipe, sets);
  return {std::move(recipe), std::move(start), path};
}

Training::Training(const Taught& taught, const std::string& folder, Device device)
    : recipe(taught.recipe),
      data(recipe::load_data(recipe, folder, taught.start ? &taught.start->facts : nullptr)),
      model(recipe::build_model(recipe, data.facts.model)),
      train(recipe::training_loader(recipe, data)) {
  recipe::check_corruptions(data.test, recipe.corrupt);
  begin_weights(taught, data, model);
  model.to(device);
  pruner = recipe::pruner_of(recipe, model, steps());
  train::TrainerOptions options = recipe::trainer_options_of(recipe, data.facts);
  const NamedTensors further = recipe::add_teacher(recipe, data.facts, model, device, options);
  optimizer = recipe::optimizer_of(recipe, model, further);
  adapt = recipe::adapt_of(recipe, data.facts, model, steps());
  trainer.emplace(model, *optimizer, std::move(options));
  if (data.validation != nullptr) validation.emplace(recipe::measuring_loader(recipe, data, data.validation));
  if (data.test != nullptr) test.emplace(recipe::measuring_loader(recipe, data, data.test));
}

std::int64_t Training::steps() const {
  const std::int64_t of_epochs =
      recipe.epochs == 0 ? 0 : (recipe.epochs * train.batches() + recipe.accumulate - 1) / recipe.accumulate;
  if (recipe.steps == 0 || of_epochs == 0) return std::max(recipe.steps, of_epochs);
  return std::min(recipe.steps, of_epochs);
}

std::int64_t Training::steps_between_evaluations() const {
  return recipe.evaluate_every > 0 ? recipe.evaluate_every
                                   : (train.batches() + recipe.accumulate - 1) / recipe.accumulate;
}

}  // namespace veldt::app
