// Builds a known network for the data of a recipe, and begins with the weights of a file.
#include "veldt/recipe/known.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "veldt/io/state.h"
#include "veldt/io/suggest.h"
#include "veldt/models/model_file.h"
#include "veldt/models/registry.h"
#include "veldt/nn/norm.h"
#include "veldt/ops/create.h"
#include "veldt/recipe/call.h"
#include "veldt/tensor/plan.h"

namespace veldt::recipe {
namespace {

struct KnownNetwork {
  std::string name;
  models::Options options = {};  // that the recipe gives
};

// What follows from the data.
bool is_of_the_data(const std::string& option) {
  return option == "classes" || option == "in_channels" || option == "image_size";
}

bool has_option(const std::string& architecture, const std::string& name) {
  for (const models::OptionInfo& option : models::about(architecture).options)
    if (option.name == name) return true;
  return false;
}

KnownNetwork known_network(const Recipe& recipe) {
  Call call(recipe.architecture.source(), recipe.architecture.texts.at(0));
  std::vector<std::string> of_pictures;
  for (const std::string& name : models::names())
    if (has_option(name, "in_channels")) of_pictures.push_back(name);
  call.must_be("architecture", of_pictures);
  KnownNetwork known{.name = call.name()};
  call.by_name();
  for (const models::OptionInfo& option : models::about(known.name).options)
    if (!is_of_the_data(option.name) && call.has(option.name.c_str()))
      known.options[option.name] =
          call.number(option.name.c_str(), {}, {.least = option.least, .most = option.most});
  call.finish();
  return known;
}

// An architecture's own errors as those of the recipe's line.
template <class Fn> auto at_line(const Written& written, const Fn& fn) {
  try {
    return fn();
  } catch (const UsageError&) {
    throw;
  } catch (const IoError&) {
    throw;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    throw UsageError(fmt::format("{}: {}", written.where, e.summary()), e.why(), e.fix());
  }
}

const std::string& head_of(const Recipe& recipe) { return models::about(known_network(recipe).name).head; }

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMostListed = 8;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostListed; ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kMostListed ? fmt::format("{} and {} more", text, names.size() - kMostListed) : text;
}

// Numbers that were taught with pictures scaled in another way than those of the recipe would see them wrong.
void check_pictures(const Recipe& recipe, const io::LoadedState& file) {
  const auto said = models::saved_preprocessing(file, recipe.from);
  if (!said || recipe.prepare.given()) return;
  const models::Preprocessing own =
      models::with_channels(preprocessing_of(recipe), static_cast<std::int64_t>(said->mean.size()));
  if (own.mean == said->mean && own.deviation == said->deviation) return;
  throw UsageError(
      fmt::format("model.from: {} was taught with pictures of other means and deviations than {}'s",
                  recipe.from, known_network(recipe).name),
      fmt::format("it says [{}] and [{}]", fmt::join(said->mean, ", "), fmt::join(said->deviation, ", ")),
      fmt::format("say so: data.prepare = [\"normalise([{}], [{}])\"]", fmt::join(said->mean, ", "),
                  fmt::join(said->deviation, ", ")));
}

void load_weights(const Recipe& recipe, nn::Module& network) {
  const std::string head = head_of(recipe);
  const bool is_new = recipe.head == "new";
  io::LoadedState file = io::load_state(recipe.from);
  check_pictures(recipe, file);
  NamedTensors& state = file.tensors;
  if (is_new) std::erase_if(state, [&](const NamedTensor& t) { return is_below(t.name, head); });
  nn::LoadReport report = network.load_state_dict(state, false);
  if (is_new) std::erase_if(report.missing, [&](const std::string& name) { return is_below(name, head); });
  if (report.complete()) return;
  std::string why;
  const auto add = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) why += fmt::format("{}{} {}", why.empty() ? "" : "; ", what, listed(names));
  };
  add("it lacks", report.missing);
  add("of it the network does not have", report.unexpected);
  add("other shapes have", report.mismatched);
  throw UsageError(
      fmt::format("model.from: {} does not fit {}", recipe.from, recipe.architecture.texts.at(0)), why,
      is_new ? "name the file's own architecture and options; veldt import --map changes names"
             : "name the file's own architecture and options, or set model.head = \"new\" for other classes");
}

void freeze_norms(const Recipe& recipe, nn::Module& network) {
  bool any = false;
  network.apply([&](nn::Module& inner) {
    if (dynamic_cast<nn::ChannelNorm*>(&inner) == nullptr) return;
    inner.freeze();
    any = true;
  });
  if (!any)
    throw UsageError(
        fmt::format("{}: {} has no batch norms", recipe.freeze.where, recipe.architecture.texts.at(0)),
        "\"norms\" means those", "leave it out");
}

// The beginning of names that `name` of model.freeze means.
std::string frozen_prefix(const Recipe& recipe, const nn::Module& network, const std::string& name) {
  const std::string prefix = prefix_of(recipe, name);
  std::vector<std::string> known{"body", "norms", "head"};
  for (const NamedTensor& parameter : network.named_parameters()) {
    if (is_below(parameter.name, prefix)) return prefix;
    const std::string top = parameter.name.substr(0, parameter.name.find('.'));
    if (std::find(known.begin(), known.end(), top) == known.end()) known.push_back(top);
  }
  const std::string nearest = io::nearest_of(name, known);
  throw UsageError(fmt::format("{}: no parameter's name begins with {}", recipe.freeze.where, name),
                   fmt::format("it may be \"body\", which is all but the head, \"norms\", \"head\", or the "
                               "beginning of a name: {}",
                               fmt::join(known.begin() + 3, known.end(), ", ")),
                   nearest.empty() ? "give one of these, or more of a name"
                                   : fmt::format("did you mean \"{}\"?", nearest));
}

}  // namespace

void check_known(const Recipe& recipe) {
  const KnownNetwork known = known_network(recipe);
  at_line(recipe.architecture, [&] { return models::complete(known.name, known.options); });
}

std::pair<nn::Graph, Shape> build_known(const Recipe& recipe, const ModelFacts& facts, Rng& rng,
                                        double most_parameters) {
  KnownNetwork known = known_network(recipe);
  return at_line(recipe.architecture, [&]() -> std::pair<nn::Graph, Shape> {
    known.options["classes"] = static_cast<double>(facts.outputs);
    known.options["in_channels"] = static_cast<double>(facts.input[0]);
    if (has_option(known.name, "image_size")) {
      if (facts.input[1] != facts.input[2])
        throw UsageError(fmt::format("{}: {} takes square pictures", recipe.architecture.where, known.name),
                         str("those of the data are ", facts.input, " [channels, height, width]"),
                         "set data.height and data.width, or data.prepare = [\"resize(224, 224)\", ..]");
      known.options["image_size"] = static_cast<double>(facts.input[1]);
    }
    Shape shape{1};
    for (const std::int64_t size : facts.input) shape.push_back(size);
    // Without memory: the recipe of a file may ask for anything.
    Shape out;
    step_facts([&] {
      Rng other(0);
      const auto network = models::make(known.name, known.options, other);
      if (static_cast<double>(network->parameter_count()) > most_parameters)
        throw UsageError(fmt::format("{}: {} has {} parameters", recipe.architecture.where, known.name,
                                     network->parameter_count()),
                         "the file holds fewer", "give the file that it was saved to");
      network->eval();
      out = (*network)(zeros(shape)).shape();
    });
    nn::Graph graph;
    graph.add("", std::shared_ptr<nn::Module>(models::make(known.name, known.options, rng)), {0});
    return {std::move(graph), out};
  });
}

void begin_known(const Recipe& recipe, nn::Module& network) {
  if (!recipe.is_known_network()) return;
  if (!recipe.from.empty()) load_weights(recipe, network);
  if (!recipe.freeze.given()) return;
  at_line(recipe.freeze, [&] {
    for (const std::string& name : recipe.freeze.texts) {
      if (name != "body") continue;
      network.freeze();
      network.requires_grad(true, head_of(recipe));
    }
    for (const std::string& name : recipe.freeze.texts)
      if (name == "norms")
        freeze_norms(recipe, network);
      else if (name != "body")
        network.freeze(frozen_prefix(recipe, network, name));
    if (network.trained_parameters().empty())
      throw UsageError(fmt::format("{} leaves nothing to train", recipe.freeze.where),
                       "all parameters are frozen", "freeze \"body\" alone, or fewer parts");
  });
}

models::Preprocessing preprocessing_of(const Recipe& recipe) {
  return models::about(known_network(recipe).name).preprocessing;
}

bool fits_pictures(const Recipe& recipe) {
  return recipe.is_known_network() && !recipe.prepare.given() && (recipe.height == 0 || recipe.width == 0);
}

std::string prefix_of(const Recipe& recipe, const std::string& name) {
  return recipe.is_known_network() && name == "head" ? head_of(recipe) : name;
}

}  // namespace veldt::recipe
