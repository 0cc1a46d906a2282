// The facts of a recipe's data as JSON, and back.
#include "veldt/recipe/facts.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "veldt/io/json.h"
#include "veldt/ops/binary.h"

namespace veldt::recipe {
namespace {

using FactsJson = nlohmann::ordered_json;

constexpr std::size_t kMaxFacts = std::size_t{16} << 20;  // a vocabulary may be long

}  // namespace

Tensor scaled_columns(const Tensor& x, const std::vector<Scaling>& columns) {
  std::vector<float> mean, deviation;
  for (const Scaling& column : columns) {
    mean.push_back(static_cast<float>(column.mean));
    deviation.push_back(static_cast<float>(column.deviation));
  }
  const Shape shape{std::ssize(columns)};
  return (x - Tensor::from<float>(shape, mean)) / Tensor::from<float>(shape, deviation);
}

std::string in_json(const Facts& facts) {
  // Not null, which [] would turn into an object: if that allocation fails, nlohmann leaves a value that
  // cannot be destroyed.
  auto json = FactsJson::object();
  json["input"] = std::vector<std::int64_t>(facts.model.input.begin(), facts.model.input.end());
  json["tokens"] = facts.model.dtype == DType::i64;
  json["outputs"] = facts.model.outputs;
  json["classes"] = facts.classes;
  json["inputs"] = facts.inputs;
  if (const auto* bpe = dynamic_cast<const data::SubwordTokenizer*>(facts.tokenizer.get()))
    json["byte_pairs"] = bpe->text();
  else if (facts.tokenizer != nullptr)
    json["characters"] = facts.tokenizer->vocabulary();
  const auto pair = [](const Scaling& s) { return std::vector<double>{s.mean, s.deviation}; };
  json["scaling"] = pair(facts.scaling);
  json["columns"] = FactsJson::array();
  for (const Scaling& column : facts.columns) json["columns"].push_back(pair(column));
  json["examples"] = facts.examples;
  if (const Shape& output = facts.model.output; output.rank() > 0)
    json["output"] = std::vector<std::int64_t>(output.begin(), output.end());
  if (const Shape& target = facts.model.target; target.rank() > 0)
    json["target"] = std::vector<std::int64_t>(target.begin(), target.end());
  return io::dump_json(json);
}

Facts facts_from_json(std::string_view text, const std::string& where) {
  const auto refused = [&](const std::string& why) {
    return IoError(IoError::Kind::malformed, fmt::format("{} holds no model of a recipe", where), why,
                   "give a file that veldt train wrote");
  };
  const auto whole = [&](const FactsJson& value) {
    const auto number = io::whole_number<std::int64_t>(value);
    if (!number)
      throw refused(fmt::format("{} is in place of a whole number", io::dump_json(value).substr(0, 80)));
    return *number;
  };
  try {
    const auto json = io::parse_json<FactsJson>(text, io::kMaxJsonDepth, kMaxFacts);
    Facts facts;
    const auto shape_of = [&](const FactsJson& sizes) {
      Shape shape;
      std::int64_t elements = 1;
      for (const auto& size : sizes) {
        const std::int64_t n = whole(size);
        if (n < 1 || n > (1 << 24) || shape.rank() >= 6 || (elements *= n) > (1 << 28))
          throw refused("the shape of its input or output makes no sense");
        shape.push_back(n);
      }
      return shape;
    };
    facts.model.input = shape_of(json.at("input"));
    if (json.contains("target")) facts.model.target = shape_of(json.at("target"));
    if (json.contains("output")) facts.model.output = shape_of(json.at("output"));
    facts.model.dtype = json.at("tokens").get<bool>() ? DType::i64 : DType::f32;
    facts.model.outputs = whole(json.at("outputs"));
    if (facts.model.outputs < 1 || facts.model.outputs > (1 << 24))
      throw refused("its outputs make no sense");
    facts.classes = json.at("classes").get<std::vector<std::string>>();
    facts.inputs = json.at("inputs").get<std::vector<std::string>>();
    if (json.contains("byte_pairs"))
      facts.tokenizer = std::make_shared<data::SubwordTokenizer>(
          data::SubwordTokenizer::parse(json.at("byte_pairs").get<std::string>(), "of " + where));
    else if (json.contains("characters"))
      facts.tokenizer = std::make_shared<data::CharTokenizer>(
          data::CharTokenizer::of(json.at("characters").get<std::vector<std::string>>()));
    const auto scaling = [&](const FactsJson& pair) {
      const Scaling s{pair.at(0).get<double>(), pair.at(1).get<double>()};
      if (!std::isfinite(s.mean) || !(s.deviation > 0)) throw refused("its scaling makes no sense");
      return s;
    };
    facts.scaling = scaling(json.at("scaling"));
    for (const auto& pair : json.at("columns")) facts.columns.push_back(scaling(pair));
    if (facts.columns.size() != facts.inputs.size() ||
        (!facts.columns.empty() && facts.model.input != Shape{std::ssize(facts.columns)}))
      throw refused("the columns that it scales are not its inputs");
    if (json.contains("examples")) facts.examples = whole(json.at("examples"));
    const std::int64_t outputs = facts.model.outputs;
    if ((!facts.classes.empty() && std::ssize(facts.classes) != outputs) ||
        (facts.tokenizer != nullptr && facts.tokenizer->size() != outputs))
      throw refused("the number of names differs from its outputs");
    return facts;
  } catch (const nlohmann::json::exception& e) {
    throw refused(e.what());
  } catch (const ConfigError& e) {
    throw refused(e.summary());
  }
}

}  // namespace veldt::recipe
