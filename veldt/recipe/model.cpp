// The network that is built from a recipe, its initial values, and what its output has to be.
#include "veldt/recipe/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "veldt/compress/quantize.h"
#include "veldt/core/rng.h"
#include "veldt/io/suggest.h"
#include "veldt/nn/init.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/recipe/agent.h"
#include "veldt/recipe/blocks.h"
#include "veldt/recipe/call.h"
#include "veldt/recipe/known.h"
#include "veldt/recipe/network.h"
#include "veldt/tensor/graph.h"

namespace veldt::recipe {
namespace {

using Fill = std::function<void(Tensor, Rng&)>;

// None, if the layers' own initial values stay.
Fill initialiser_of(const Recipe& recipe) {
  if (!recipe.init.given()) return {};
  Call call(recipe.init.source(), recipe.init.texts.at(0));
  call.must_be("initialiser", {"xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal",
                               "lecun_normal", "orthogonal", "normal"});
  const double deviation = call.name() == "normal" ? call.number("deviation", {}, {.above = 0}) : 0;
  call.finish();
  const std::vector<std::pair<const char*, Fill>> known = {
      {"xavier_uniform", [](Tensor w, Rng& rng) { nn::init::xavier_uniform(w, 1, rng); }},
      {"xavier_normal", [](Tensor w, Rng& rng) { nn::init::xavier_normal(w, 1, rng); }},
      {"kaiming_uniform", [](Tensor w, Rng& rng) { nn::init::kaiming_uniform(w, 0, rng); }},
      {"kaiming_normal", [](Tensor w, Rng& rng) { nn::init::kaiming_normal(w, 0, rng); }},
      {"lecun_normal", [](Tensor w, Rng& rng) { nn::init::lecun_normal(w, rng); }},
      {"orthogonal", [](Tensor w, Rng& rng) { nn::init::orthogonal(w, 1, rng); }},
      {"normal", [deviation](Tensor w, Rng& rng) { nn::init::normal(w, 0, deviation, rng); }},
  };
  for (const auto& [name, fill] : known)
    if (call.name() == name) return fill;
  return {};
}

// Where the name of a value may stand, and be read: what hides it are the parameters of a block.
bool is_read(const Recipe& recipe, const std::string& name) {
  const auto in = [&name](const std::vector<std::string>& texts) {
    return std::any_of(texts.begin(), texts.end(), [&](const std::string& t) { return has_word(t, name); });
  };
  if (in(recipe.layers.texts)) return true;
  for (const auto& [other, text] : recipe.values)
    if (other != name && has_word(text, name)) return true;
  for (const Block& block : recipe.blocks) {
    const std::vector<BlockParameter> parameters = Blocks::parameters_of(block);
    if (std::any_of(parameters.begin(), parameters.end(),
                    [&](const BlockParameter& p) { return p.otherwise && has_word(*p.otherwise, name); }))
      return true;
    if (std::any_of(parameters.begin(), parameters.end(),
                    [&](const BlockParameter& p) { return p.name == name; }))
      continue;
    if (in(block.layers.texts) || in(block.shortcut.texts) || in(block.then.texts)) return true;
  }
  return false;
}

}  // namespace

void check_values_are_read(const Recipe& recipe) {
  std::vector<std::string> read;
  for (const auto& [name, text] : recipe.values)
    if (is_read(recipe, name)) read.push_back(name);
  for (const auto& [name, text] : recipe.values) {
    if (std::find(read.begin(), read.end(), name) != read.end()) continue;
    const std::string nearest = io::nearest_of(name, read);
    throw UsageError(fmt::format("values.{} would change nothing", name),
                     read.empty() ? "no layer has that name among its arguments"
                                  : fmt::format("no layer has that name among its arguments; layers read {}",
                                                fmt::join(read, ", ")),
                     nearest.empty()
                         ? fmt::format("write it into a layer, as in Linear({}), or leave it out", name)
                         : fmt::format("did you mean 'values.{}'?", nearest));
  }
}

void check_model(const Recipe& recipe) {
  if (recipe.acts()) try {
      return check_agent(recipe);
    } catch (const UsageError&) {
      throw;
    } catch (const ConfigError& e) {  // numbers that do not fit each other
      throw UsageError(e.summary(), e.why(), e.fix());
    }
  if (recipe.is_known_network()) return check_known(recipe);
  check_network(recipe);
  initialiser_of(recipe);
}

nn::Graph build_model(const Recipe& recipe, const ModelFacts& facts, double most_parameters) {
  NoGrad off;
  Rng rng(static_cast<std::uint64_t>(recipe.seed));
  const Fill fill = initialiser_of(recipe);
  auto [model, shape] = recipe.is_known_network() ? build_known(recipe, facts, rng, most_parameters)
                                                  : build_network(recipe, facts, rng, most_parameters);
  const std::string& where = recipe.is_known_network() ? recipe.architecture.where : recipe.layers.where;
  if (facts.output.rank() > 0) {
    Shape wanted{1};
    for (const std::int64_t size : facts.output) wanted.push_back(size);
    if (shape != wanted)
      throw UsageError(str(where, " ends in ", shape), str("the data need ", wanted),
                       "end with Conv2d(outputs, 3, padding=1), and undo what made the picture smaller");
  }
  if (const Shape& target = facts.target; target.rank() > 0 && (shape.rank() != 3 || shape[1] != target[0]))
    throw UsageError(str(where, " ends in ", shape),
                     str("the data need an output for each of the ", target[0], " tokens of the target"),
                     "go on from Load(target), and end with Linear(outputs)");
  const int sequence = facts.dtype == DType::i64 ? 1 : 0;
  if (facts.output.rank() == 0 && (shape.rank() != 2 + sequence || shape.back() != facts.outputs))
    throw UsageError(
        str(where, " ends in ", shape),
        str("the data need ", facts.outputs, " outputs for each ", sequence == 1 ? "token" : "example"),
        "end with Linear(outputs), after Flatten or LastStep if needed");
  // All weights with two dimensions or more.
  if (fill)
    for (const auto& [name, tensor] : model.named_parameters())
      if (tensor.rank() >= 2) fill(tensor, rng);
  if (!recipe.quantize.empty()) {
    const compress::Method method = recipe.quantize == "static"    ? compress::Method::calibrated
                                    : recipe.quantize == "dynamic" ? compress::Method::dynamic
                                                                   : compress::Method::weights;
    compress::simulate(
        model, compress::planned(model, {.bits = recipe.quantize == "4-bit" ? 4 : 8, .method = method}));
  }
  return model;
}

nn::Graph build_model(const std::string& toml, const ModelFacts& facts) {
  return build_model(parse_model(toml), facts);
}

TensorList example_for(const ModelFacts& facts) {
  Rng rng(1);
  TensorList example;
  for (const Shape& sizes : {facts.input, facts.target})
    if (sizes.rank() > 0)
      example.push_back(facts.dtype == DType::i64 ? zeros(sizes.with_inserted(0, 1), DType::i64)
                                                  : randn(sizes.with_inserted(0, 1), rng));
  return example;
}

}  // namespace veldt::recipe
