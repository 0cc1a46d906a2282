// Facts, layers and confusions of a training.
#include "veldt/app/train_live.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "veldt/io/json.h"
#include "veldt/nn/evaluating.h"
#include "veldt/ops/create.h"
#include "veldt/recipe/trained_file.h"
#include "veldt/recipe/writing.h"

namespace veldt::app {
namespace {

// "train.epochs": every value of a nested object by its path.
void add_values(const nlohmann::ordered_json& given, const std::string& path,
                std::vector<std::pair<std::string, std::string>>& into) {
  if (given.is_object()) {
    for (const auto& [key, value] : given.items())
      add_values(value, path.empty() ? key : path + "." + key, into);
  } else if (!given.is_null()) {
    std::string text;
    if (given.is_array())
      for (const auto& entry : given)
        text += (text.empty() ? "" : ", ") +
                (entry.is_string() ? entry.get<std::string>() : io::dump_json(entry));
    else
      text = given.is_string() ? given.get<std::string>() : io::dump_json(given);
    constexpr std::size_t kMost = 2000;
    if (text.size() > kMost) text = text.substr(0, kMost) + " ..";
    into.emplace_back(path, text);
  }
}

}  // namespace

LiveRun::Options options_of_live(const TrainFlags& flags, std::function<void(const std::string&)> say) {
  return {flags.live, std::filesystem::path(flags.config).stem().string(), flags.out, flags.resume,
          std::move(say)};
}

void show_recipe(LiveRun& live, const recipe::Recipe& recipe, Device device) {
  if (!live.is_on()) return;
  std::vector<std::pair<std::string, std::string>> values;
  add_values(io::parse_json<nlohmann::ordered_json>(recipe::in_json(recipe)), "", values);
  live.set_facts("recipe", values);
  live.board().change([&](live::Record& record) { record.device = name_of(device.kind); });
}

void show_training(LiveRun& live, const recipe::Recipe& recipe, const recipe::Data& data, nn::Graph& model,
                   Device device) {
  if (!live.is_on()) return;
  show_recipe(live, recipe, device);
  live.set_facts("data", {{"examples", std::to_string(data.train->size())},
                          {"parameters", std::to_string(model.parameter_count())}});
  if (recipe.kind == "text")
    live.writes([&] {
      const nn::Evaluating now(model);
      return recipe::written_text(recipe, data.facts, model, {.count = 200});
    });
  std::vector<live::LayerLine> layers;
  const recipe::ModelFacts& facts = data.facts.model;
  if (facts.target.rank() == 0)  // a network of two inputs has no shape to show them by
    layers = live::layers_of(model, zeros(facts.input.with_inserted(0, 1), facts.dtype, device));
  live.board().change([&](live::Record& record) { record.layers = std::move(layers); });
}

TestOutcome::TestOutcome(const recipe::Recipe& recipe, const recipe::Data& data) : data_(data) {
  constexpr std::int64_t kMostClasses = 100;  // of a table that can be read
  const std::int64_t classes = data.facts.model.outputs;
  if (recipe.knows_classes() && data.test != nullptr && classes >= 2 && classes <= kMostClasses)
    confusions_.emplace(classes);
}

train::Trainer::Look TestOutcome::look() {
  if (!confusions_) return {};
  const std::int64_t classes = data_.facts.model.outputs;
  return [this, classes](const TensorList& outputs, const data::Batch& batch) {
    if (outputs.at(0).rank() == 2 && outputs[0].size(1) == classes && batch.back().rank() == 1)
      confusions_->look(outputs, batch);
  };
}

void TestOutcome::show(LiveRun& live) const {
  if (!confusions_ || !live.is_on()) return;
  const std::vector<std::string> names =
      data_.facts.classes.empty() ? data_.test->classes() : data_.facts.classes;
  std::vector<live::WorstExample> worst = confusions_->worst(*data_.test, names);
  live.board().change([&](live::Record& record) {
    record.confusion = confusions_->table(names);
    record.worst = std::move(worst);
  });
}

}  // namespace veldt::app
