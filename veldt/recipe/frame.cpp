// Puts layers into the graphs of a recipe, each for the shape of what it reads.
#include "veldt/recipe/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "veldt/ops/create.h"
#include "veldt/tensor/plan.h"

namespace veldt::recipe {
namespace {

constexpr std::int64_t kMostElements = 1 << 28;  // numbers of an example between two layers: a gigabyte
constexpr std::int64_t kMostLayers = 4096;       // of a network, repeated ones and blocks counted

std::optional<Passing> found_value(Frame& frame, const std::string& name) {
  if (const auto known = frame.saved.find(name); known != frame.saved.end()) {
    known->second.is_read = true;
    return known->second.passing;
  }
  if (frame.outer == nullptr) return std::nullopt;
  std::optional<Passing> found = found_value(*frame.outer, name);
  if (!found) return std::nullopt;
  frame.imports.push_back(found->value);
  found->value = frame.graph.add_input();
  frame.saved[name] = {*found, true};
  return found;
}

// What the layer makes of zeros.
Tensor planned(const nn::Module& layer, const std::vector<Passing>& from) {
  if (from.size() == 1) return layer(zeros(from[0].shape, from[0].dtype));
  TensorList inputs;
  for (const Passing& passing : from) inputs.push_back(zeros(passing.shape, passing.dtype));
  return layer(inputs).at(0);
}

}  // namespace

UsageError refused_text(const io::Source& source, const std::string& text, const std::string& why,
                        const std::string& fix) {
  return {fmt::format("{} cannot be '{}'", source.name, text), why, fix};
}

Passing read_value(Frame& frame, const Call& call, const std::string& name) {
  if (const std::optional<Passing> found = found_value(frame, name)) return *found;
  std::vector<std::string> known;
  for (Frame* at = &frame; at != nullptr; at = at->outer)
    for (const auto& [other, value] : at->saved)
      if (std::find(known.begin(), known.end(), other) == known.end()) known.push_back(other);
  throw call.refused(fmt::format("there is no value '{}' here{}{}", name, known.empty() ? "" : ", but ",
                                 fmt::join(known, ", ")),
                     fmt::format("write Save({}) where the value is made, before this", name));
}

void check_reads(const Frame& frame) {
  for (const auto& [name, value] : frame.saved)
    if (!value.is_read)
      throw refused_text(value.source, fmt::format("Save({})", name), "nothing reads this value afterwards",
                         fmt::format("read it with Cat({0}), Add({0}) or Load({0}), or leave it out", name));
}

Passing put_inner(const std::string& name, Frame inner, const Passing& x, Passing y) {
  inner.graph.set_output(y.value);
  std::vector<nn::Graph::Value> from{x.value};
  from.insert(from.end(), inner.imports.begin(), inner.imports.end());
  y.value = inner.outer->graph.add(name, std::move(inner.graph), std::move(from));
  return y;
}

void Placing::count(const Call& call) {
  if (++layers_ > kMostLayers)
    throw call.refused(fmt::format("with it the network has more than {} layers", kMostLayers),
                       "repeat less often");
}

Passing Placing::put(Frame& frame, const io::Source& source, const std::string& name, const Call& call,
                     const Build& build, const std::vector<Passing>& from) {
  if (rng_ == nullptr) return from[0];
  Passing y = from[0];
  try {
    step_facts([&] {
      Rng other(0);
      const auto layer = build({call, from[0].shape, other});
      parameters_ += static_cast<double>(layer->parameter_count());
      if (parameters_ > most_parameters_)
        throw call.refused(fmt::format("with it the network has {} parameters", parameters_),
                           "the file holds fewer");
      layer->eval();
      const Tensor out = planned(*layer, from);
      y.shape = out.shape(), y.dtype = out.dtype();
    });
    if (numel(y.shape) > kMostElements)
      throw call.refused(str("an example becomes ", y.shape, " there"), "give smaller sizes");
    std::vector<nn::Graph::Value> values;
    for (const Passing& passing : from) values.push_back(passing.value);
    y.value = frame.graph.add(name, build({call, from[0].shape, *rng_}), std::move(values));
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    throw refused_text(source, call.text(), fmt::format("{}: {}", e.summary(), e.why()), e.fix());
  }
  return y;
}

}  // namespace veldt::recipe
