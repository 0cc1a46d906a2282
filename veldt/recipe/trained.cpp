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

void save(const std::string& path, const Trained& trained) {
  auto metadata = metadata_of(trained.recipe, trained.facts, trained.scores);
  if (!trained.quantization.empty())
    metadata.emplace("quantization", compress::in_json(trained.quantization));
  io::write_safetensors(path, trained.model.state_dict(), metadata);
}

Trained load(const std::string& path, Device device) {
  Trained trained;
  read_trained(path, kNetworkFile, [&](const TrainedFile& f) {
    trained.recipe = f.recipe;
    trained.scores = f.scores;
    trained.facts = facts_from_json(f.part(kNetworkFile, "facts"), f.path);
    if (!fit_together(trained.recipe, trained.facts))
      throw not_of_kind(kNetworkFile, f.path, "its recipe and what it knows of its data do not fit together");
    const auto quantization = f.file.metadata.find("quantization");
    const bool has_integers = quantization != f.file.metadata.end();
    // A byte may hold two weights.
    trained.model = build_model(trained.recipe, trained.facts.model, f.elements * (has_integers ? 2 : 1));
    if (has_integers) {
      trained.model.eval();  // as batch norms were when they were folded
      trained.quantization = compress::scheme_of_json(quantization->second);
      compress::expect(trained.model, trained.quantization);
    }
    trained.model.load_state_dict(f.file.tensors);
    if (has_integers) compress::check(trained.model);
  });
  trained.model.eval();
  trained.to(device);
  return trained;
}

}  // namespace veldt::recipe
