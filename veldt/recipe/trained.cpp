// Saves and loads a trained network together with its recipe and the facts of its data.
#include "veldt/recipe/trained.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "veldt/io/json.h"
#include "veldt/io/safetensors.h"

namespace veldt::recipe {
namespace {

using TrainedJson = nlohmann::ordered_json;

IoError no_recipe_model(const std::string& path, const std::string& why) {
  return {IoError::Kind::malformed, fmt::format("{} holds no network of a recipe", path), why,
          "give a model.safetensors that veldt train wrote"};
}

}  // namespace

std::string in_json(const Recipe& recipe, const std::vector<std::string>& without) {
  TrainedJson json = TrainedJson::object();
  for (const auto& [key, texts] : recipe.given)
    if (std::find(without.begin(), without.end(), key) == without.end()) json[key] = texts;
  return io::dump_json(json);
}

void save(const std::string& path, const Recipe& recipe, const Facts& facts, const nn::Module& model,
          const train::Scores& scores) {
  TrainedJson found = TrainedJson::object();
  for (const auto& [name, value] : scores) found[name] = value;
  io::write_safetensors(path, model.state(),
                        {{"kind", kTrainedKind},
                         {"format_version", "1"},
                         {"recipe", in_json(recipe)},
                         {"facts", in_json(facts)},
                         {"scores", io::dump_json(found)}});
}

Trained load(const std::string& path) {
  const io::SafeTensors file = io::read_safetensors(path);
  const auto part = [&](const char* key) -> const std::string& {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end())
      throw no_recipe_model(path, fmt::format("its metadata lacks '{}'", key));
    return found->second;
  };
  if (part("kind") != kTrainedKind)
    throw no_recipe_model(path, fmt::format("its kind is '{}'", part("kind")));
  if (part("format_version") != "1")
    throw IoError(
        IoError::Kind::corrupt, fmt::format("cannot read {}", path),
        fmt::format("its format has version {}, and only version 1 is known", part("format_version")),
        "use a newer veldt");
  Trained trained;
  try {
    std::vector<std::pair<std::string, std::vector<std::string>>> given;
    const auto written = io::parse_json<TrainedJson>(part("recipe"));
    for (const auto& [key, texts] : written.items())
      given.emplace_back(key, texts.get<std::vector<std::string>>());
    trained.recipe = recipe_of(given, path);
    trained.facts = facts_from_json(part("facts"), path);
    if ((trained.recipe.kind == "text") != (trained.facts.tokenizer != nullptr) ||
        (trained.recipe.kind == "text") != (trained.facts.model.dtype == DType::i64))
      throw no_recipe_model(path, "its recipe and what it knows of its data do not fit together");
    const Recipe& recipe = trained.recipe;
    const bool has_classes = recipe.is_of_pictures() || (recipe.kind == "table" && recipe.classes);
    if (has_classes != !trained.facts.classes.empty() ||
        (recipe.kind == "table") != !trained.facts.inputs.empty())
      throw no_recipe_model(path, "its recipe and what it knows of its data do not fit together");
    double elements = 0;
    for (const auto& [name, tensor] : file.tensors) elements += static_cast<double>(tensor.numel());
    trained.model = build_model(recipe, trained.facts.model, elements);
  } catch (const nlohmann::json::exception& e) {
    throw no_recipe_model(path, e.what());
  } catch (const UsageError& e) {  // of a file, not of the command line
    throw no_recipe_model(path, fmt::format("{}: {}", e.summary(), e.why()));
  }
  try {
    trained.model.load_state(file.tensors);
  } catch (const IoError&) {
    throw;
  } catch (const Error& e) {
    throw no_recipe_model(path, fmt::format("{}: {}", e.summary(), e.why()));
  }
  trained.model.eval();
  return trained;
}

}  // namespace veldt::recipe
