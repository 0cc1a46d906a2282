// Saves and loads a trained network together with its recipe and the facts of its data.
#include "veldt/recipe/trained.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"
#include "veldt/io/safetensors.h"

namespace veldt::recipe {
namespace {

using TrainedJson = nlohmann::ordered_json;

IoError no_recipe_model(const std::string& path, const std::string& why) {
  return {IoError::Kind::malformed, fmt::format("{} holds no network of a recipe", path), why,
          "give a model.safetensors that veldt train wrote, or the folder of its run"};
}

// Whether what a file says of its recipe fits what it says of its data.
bool fit_together(const Recipe& recipe, const Facts& facts) {
  const Shape& input = facts.model.input;
  const bool is_text = recipe.learns_tokens(), is_table = recipe.kind == "table";
  if (is_text != (facts.tokenizer != nullptr) || is_text != (facts.model.dtype == DType::i64)) return false;
  if (recipe.knows_classes() != !facts.classes.empty() || is_table != !facts.inputs.empty()) return false;
  if (recipe.denoises())
    return facts.model.target.rank() == 0 && input == Shape{recipe.grey ? 1 : 3, recipe.crop, recipe.crop} &&
           facts.model.output == input && facts.model.outputs == input[0];
  if (facts.model.output.rank() > 0) return false;
  if (facts.model.target.rank() != (recipe.kind == "pairs" ? 1 : 0)) return false;
  if (recipe.is_of_pictures()) return input.rank() == 3;
  if (recipe.kind == "series")
    return input == Shape{recipe.context, 1} && facts.model.outputs == recipe.horizon;
  return input.rank() == 1;
}

train::Scores scores_in(const std::string& text) {
  train::Scores scores;
  const auto written = io::parse_json<TrainedJson>(text);
  for (const auto& [name, value] : written.items())
    if (value.is_number())
      scores.emplace_back(name, value.get<double>());  // null is a number that was not finite
  return scores;
}

// What a file's metadata say, and the network as it was before its training.
Trained without_weights(const io::SafeTensors& file, const std::string& path) {
  const auto part = [&](const char* key) -> const std::string& {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end())
      throw no_recipe_model(path, fmt::format("its metadata lacks '{}'", key));
    return found->second;
  };
  if (part("kind") == kAgentKind)
    throw IoError(IoError::Kind::malformed, fmt::format("{} holds an agent", path),
                  "it acts in an environment, and there are no data for it", "use veldt play");
  if (part("kind") != kTrainedKind)
    throw no_recipe_model(path, fmt::format("its kind is '{}'", part("kind")));
  if (part("format_version") != "1")
    throw IoError(
        IoError::Kind::corrupt, fmt::format("cannot read {}", path),
        fmt::format("its format has version {}, and only version 1 is known", part("format_version")),
        "use a newer veldt");
  Trained trained;
  std::vector<std::pair<std::string, std::vector<std::string>>> given;
  const auto written = io::parse_json<TrainedJson>(part("recipe"));
  for (const auto& [key, texts] : written.items())
    given.emplace_back(key, texts.get<std::vector<std::string>>());
  trained.recipe = recipe_of(given, path);
  trained.facts = facts_from_json(part("facts"), path);
  if (!fit_together(trained.recipe, trained.facts))
    throw no_recipe_model(path, "its recipe and what it knows of its data do not fit together");
  if (file.metadata.contains("scores")) trained.scores = scores_in(file.metadata.at("scores"));
  double elements = 0;
  for (const auto& [name, tensor] : file.tensors) elements += static_cast<double>(tensor.numel());
  trained.model = build_model(trained.recipe, trained.facts.model, elements);
  return trained;
}

}  // namespace

std::string in_json(const Recipe& recipe, const std::vector<std::string>& without) {
  TrainedJson json = TrainedJson::object();
  for (const auto& [key, texts] : recipe.given)
    if (std::find(without.begin(), without.end(), key) == without.end()) json[key] = texts;
  return io::dump_json(json);
}

std::map<std::string, std::string> metadata_of(const Recipe& recipe, const Facts& facts,
                                               const train::Scores& scores) {
  TrainedJson found = TrainedJson::object();
  for (const auto& [name, value] : scores) found[name] = value;
  return {{"kind", kTrainedKind},
          {"format_version", "1"},
          {"recipe", in_json(recipe)},
          {"facts", in_json(facts)},
          {"scores", io::dump_json(found)}};
}

void save(const std::string& path, const Recipe& recipe, const Facts& facts, const nn::Module& model,
          const train::Scores& scores) {
  io::write_safetensors(path, model.state_dict(), metadata_of(recipe, facts, scores));
}

std::string model_file(const std::string& path) {
  if (!io::is_directory(path)) return path;
  for (const char* name : {"model.safetensors", "best.safetensors"})
    if (std::string file = (std::filesystem::path(path) / name).string(); io::exists(file)) return file;
  throw IoError(IoError::Kind::missing, fmt::format("there is no network in {}", path),
                "the folder has neither model.safetensors nor best.safetensors",
                "name the folder of a run of veldt train, or a file that it wrote");
}

Trained load(const std::string& path, Device device) {
  const std::string name = model_file(path);
  const io::SafeTensors file = io::read_safetensors(name);
  Trained trained;
  try {
    trained = without_weights(file, name);
  } catch (const nlohmann::json::exception& e) {
    throw no_recipe_model(name, e.what());
  } catch (const UsageError& e) {  // of a file, not of the command line
    throw no_recipe_model(name, fmt::format("{}: {}", e.summary(), e.why()));
  }
  try {
    trained.model.load_state_dict(file.tensors);
  } catch (const IoError&) {
    throw;
  } catch (const Error& e) {
    throw no_recipe_model(name, fmt::format("{}: {}", e.summary(), e.why()));
  }
  trained.model.eval();
  trained.to(device);
  return trained;
}

}  // namespace veldt::recipe
