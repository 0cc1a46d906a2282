// veldt prune: a trained network made smaller, as a file that every verb opens.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "veldt/app/output_name.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/terminal.h"
#include "veldt/io/file.h"
#include "veldt/io/safetensors.h"
#include "veldt/recipe/pruned.h"
#include "veldt/recipe/pruning.h"

namespace veldt::app {
namespace {

struct PruneFlags {
  std::string model, output, rewind;
  std::optional<std::string> scope;
  compress::PruneOptions pattern;
  std::vector<std::string> except;
  double weights = 0, channels = 0, heads = 0;
};

recipe::PruneRequest request_of(const PruneFlags& flags, const recipe::Trained& network) {
  recipe::PruneRequest request{.cut = {.share = flags.channels, .heads = flags.heads},
                               .except = flags.except};
  if (flags.scope == "network") request.cut.scope = compress::PruneScope::network;
  if (flags.pattern.of > 0 || flags.weights > 0) {
    request.weights = flags.pattern;
    request.weights->share = flags.weights;
    if (flags.scope == "layer") request.weights->scope = compress::PruneScope::layer;
  }
  if (flags.rewind == "initial")
    request.rewind = recipe::first_weights(network);
  else if (!flags.rewind.empty())
    request.rewind = io::read_safetensors(recipe::model_file(flags.rewind)).tensors;
  return request;
}

nlohmann::ordered_json pruned_in_json(const PruneFlags& flags, const recipe::Pruned& pruned) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const recipe::PrunedRow& row : pruned.rows) {
    layers.push_back({{"layer", row.name},
                      {"what", row.what},
                      {"size", row.size},
                      {"kept", row.kept},
                      {"score", row.score}});
    if (!row.fixed.empty()) layers.back()["fixed"] = row.fixed;
  }
  return {{"output", flags.output},
          {"parameters_before", pruned.parameters_before},
          {"parameters", pruned.network.model.parameter_count()},
          {"zeros", pruned.zeros},
          {"layers", layers}};
}

std::string pruned_in_words(const PruneFlags& flags, const recipe::Pruned& pruned) {
  std::size_t widest = 5;
  for (const recipe::PrunedRow& row : pruned.rows) widest = std::max(widest, on_one_line(row.name).size());
  std::string text =
      fmt::format("{:<{}}  {:<8}  {:>8}  {:>8}  score\n", "layer", widest, "what", "size", "kept");
  for (const recipe::PrunedRow& row : pruned.rows)
    text +=
        fmt::format("{:<{}}  {:<8}  {:>8}  {:>8}  {:.3f}{}\n", on_one_line(row.name), widest, row.what,
                    row.size, row.kept, row.score, row.fixed.empty() ? "" : "  " + on_one_line(row.fixed));
  const std::int64_t left = pruned.network.model.parameter_count();
  return text + fmt::format("{}: {} of {} parameters are left, {} of them are 0\n", on_one_line(flags.output),
                            left, pruned.parameters_before, pruned.zeros);
}

int prune_model(const PruneFlags& flags, Context& context) {
  if (flags.weights == 0 && flags.channels == 0 && flags.heads == 0 && flags.pattern.of == 0)
    throw UsageError("nothing says what is to go", "a network can lose weights, channels and heads",
                     "give --weights 0.9, --pattern 2:4, --channels 0.5 or --heads 0.5");
  if (flags.weights > 0 && flags.pattern.of > 0)
    throw UsageError("--weights and --pattern contradict each other",
                     "a pattern says by itself how many weights stay", "leave out one of them");
  std::error_code ignored;
  if (std::filesystem::equivalent(recipe::model_file(flags.model), flags.output, ignored))
    throw UsageError("the output is the input", fmt::format("{} would be overwritten", flags.output),
                     "give another name after -o");
  check_ending(flags.output, "--output", kModelFile);
  io::check_writable(flags.output);
  recipe::Trained network = recipe::load(flags.model);
  if (!network.quantization.empty())
    throw UsageError(fmt::format("{} is quantised", on_one_line(flags.model)), "its weights are integers",
                     "prune the network of floats that it was made of, then quantise that");
  const recipe::PruneRequest request = request_of(flags, network);
  const recipe::Pruned pruned = recipe::pruned(std::move(network), request);
  const recipe::Trained& smaller = pruned.network;
  recipe::save(flags.output, smaller.recipe, smaller.facts, smaller.model, {});
  if (context.json) {
    context.out.json(pruned_in_json(flags, pruned));
    return kOk;
  }
  context.out.text(pruned_in_words(flags, pruned));
  if (!context.quiet)
    print_note(
        fmt::format("it has not learned since; teach it again: veldt train {} --data DIR", flags.output));
  return kOk;
}

}  // namespace

Run add_prune(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<PruneFlags>();
  add_path(verb, "MODEL", flags->model, "what veldt train wrote: a model.safetensors, or the folder of a run")
      .required();
  add_path(verb, "-o,--output", flags->output, "where the smaller network goes (.safetensors)").required();
  add_number(verb, "--weights", flags->weights, {.least = 0, .most = 1},
             "the share of the weights that become 0: those nearest to 0");
  add_text(verb, "--pattern", "N:M",
           "in its place: of each M weights next to each other along a layer's inputs N stay, as in 2:4",
           [flags](const io::Source& source, const std::string& text) {
             recipe::read_pattern(source, text, flags->pattern);
           });
  add_number(verb, "--channels", flags->channels, {.least = 0, .most = 1},
             "the share of channels and hidden features that is cut out, with all that reads them");
  add_number(verb, "--heads", flags->heads, {.least = 0, .most = 1},
             "the share of the attention heads of transformers that is cut out");
  add_choice(verb, "--scope", flags->scope, {"network", "layer"},
             "over what a share is counted: weights over the network unless given, channels by layer");
  add_texts(verb, "--except", "NAME", flags->except,
            "what stays: the beginning of names, as in head or 3; may be given several times")
      .command_line_only();
  add_path(verb, "--rewind", flags->rewind,
           "a lottery ticket: what stays begins again with the weights of this earlier file, or, of the word "
           "initial, with those of the recipe's seed");
  add_threads(verb, context);
  verb.examples(
      "  veldt prune runs/mnist -o sparse.safetensors --weights 0.9\n"
      "  veldt prune runs/mnist -o half.safetensors --channels 0.5\n"
      "  veldt train half.safetensors --data data                      teach it again\n"
      "  veldt prune runs/mnist -o ticket.safetensors --weights 0.8 --rewind initial\n");
  return [flags, &context] { return prune_model(*flags, context); };
}

}  // namespace veldt::app
