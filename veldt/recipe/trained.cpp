// Saves and loads a trained network together with its recipe and the facts of its data.
#include "veldt/recipe/trained.h"

#include "veldt/io/safetensors.h"

namespace veldt::recipe {
namespace {

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

}  // namespace

std::map<std::string, std::string> metadata_of(const Recipe& recipe, const Facts& facts,
                                               const train::Scores& scores) {
  std::map<std::string, std::string> all = metadata_of(kNetworkFile, recipe, scores);
  all.emplace("facts", in_json(facts));
  return all;
}

void save(const std::string& path, const Recipe& recipe, const Facts& facts, const nn::Module& model,
          const train::Scores& scores) {
  io::write_safetensors(path, model.state_dict(), metadata_of(recipe, facts, scores));
}

Trained load(const std::string& path, Device device) {
  Trained trained;
  read_trained(path, kNetworkFile, [&](const TrainedFile& f) {
    trained.recipe = f.recipe;
    trained.scores = f.scores;
    trained.facts = facts_from_json(f.part(kNetworkFile, "facts"), f.path);
    if (!fit_together(trained.recipe, trained.facts))
      throw not_of_kind(kNetworkFile, f.path, "its recipe and what it knows of its data do not fit together");
    trained.model = build_model(trained.recipe, trained.facts.model, f.elements);
    trained.model.load_state_dict(f.file.tensors);
  });
  trained.model.eval();
  trained.to(device);
  return trained;
}

}  // namespace veldt::recipe
