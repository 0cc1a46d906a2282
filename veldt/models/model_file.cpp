// Saves and loads networks with what they need, and changes their last layers.
#include "veldt/models/model_file.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "veldt/core/error.h"
#include "veldt/io/json.h"
#include "veldt/io/safetensors.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/linear.h"
#include "veldt/tensor/plan.h"

namespace veldt::models {
namespace {

using ModelJson = nlohmann::ordered_json;

constexpr std::int64_t kMostPixels = 1 << 14;  // of a side of a network's input

IoError no_model(const std::string& path, const std::string& why) {
  return {IoError::Kind::malformed, fmt::format("{} holds no known network", path), why,
          "give a file that veldt import --as or models::save() wrote"};
}

double number_in(const std::string& path, const ModelJson& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    throw no_model(path, fmt::format("{} is in place of a number", io::dump_json(value).substr(0, 80)));
  return value.get<double>();
}

std::string in_json(const Options& options) {
  auto json = ModelJson::object();
  for (const auto& [name, value] : options) json[name] = value;
  return io::dump_json(json);
}

std::string in_json(const Preprocessing& p) {
  auto json = ModelJson::object();
  json["shorter_side"] = p.shorter_side;
  json["height"] = p.height;
  json["width"] = p.width;
  json["mean"] = p.mean;
  json["deviation"] = p.deviation;
  return io::dump_json(json);
}

Preprocessing preprocessing_in(const std::string& text, const std::string& path) {
  const auto json = io::parse_json<ModelJson>(text);
  const auto pixels = [&](const char* key) {
    const auto found = io::whole_number<std::int64_t>(json.at(key));
    if (!found || *found < 1 || *found > kMostPixels)
      throw no_model(path, fmt::format("{} of its preprocessing makes no sense", key));
    return *found;
  };
  const auto numbers = [&](const char* key) {
    std::vector<double> all;
    for (const ModelJson& value : json.at(key)) all.push_back(number_in(path, value));
    return all;
  };
  Preprocessing p{.shorter_side = pixels("shorter_side"),
                  .height = pixels("height"),
                  .width = pixels("width"),
                  .mean = numbers("mean"),
                  .deviation = numbers("deviation")};
  for (const double deviation : p.deviation)
    if (!(deviation > 0)) throw no_model(path, "a deviation of its preprocessing is not above 0");
  if (p.mean.size() != p.deviation.size())
    throw no_model(path, "its preprocessing has as many means as deviations");
  return p;
}

Options options_in(const std::string& text, const std::string& path) {
  Options options;
  const auto json = io::parse_json<ModelJson>(text);
  for (const auto& [name, value] : json.items()) options[name] = number_in(path, value);
  return options;
}

// Options may ask for any size, so the network is first made without memory, and counted.
void check_size(const Model& model, const NamedTensors& tensors, const std::string& path) {
  double in_file = 0, asked = 0;
  for (const auto& [name, tensor] : tensors) in_file += static_cast<double>(tensor.numel());
  step_facts([&] {
    Rng other(0);
    asked = static_cast<double>(make(model.architecture, model.options, other)->parameter_count());
  });
  if (asked > in_file)
    throw no_model(path, fmt::format("its options ask for {} parameters, and the file holds fewer", asked));
}

using Shapes = std::map<std::string, Shape>;

Shapes shapes_of(const nn::Module& network) {
  Shapes shapes;
  for (const auto& [name, tensor] : network.state_dict()) shapes[name] = tensor.shape();
  return shapes;
}

// Refuses to save a network that load() could not make again from its architecture and options.
void check_saved(const Model& model, const std::string& path) {
  const auto refuse = [&](const std::string& why, const std::string& fix) {
    throw ConfigError(fmt::format("cannot save a {} to {}", model.architecture, path), why, fix);
  };
  Shapes made;
  const Shapes own = shapes_of(*model.network);
  step_facts([&] {
    Rng other(0);
    made = shapes_of(*make(model.architecture, model.options, other));
  });
  for (const auto& [name, shape] : own)
    if (name.find("lora_") != std::string::npos)
      refuse(fmt::format("it has an adapter, {}", name),
             "call nn::merge_lora() first, or save the adapters alone: nn::lora_state()");
  for (const auto& [name, shape] : own)
    if (const auto found = made.find(name); found == made.end() || found->second != shape)
      refuse(str(name, " is ", shape,
                 found == made.end() ? str(", and its options have none")
                                     : str(", and ", found->second, " by its options")),
             "change its head by replace_head(model, outputs), which keeps the options true");
  if (own.size() != made.size()) refuse("its options make more layers than it has", "set its options");
}

Model read_model(const io::SafeTensors& file, const std::string& path) {
  const auto part = [&](const char* key) -> const std::string& {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end()) throw no_model(path, fmt::format("its metadata lacks '{}'", key));
    return found->second;
  };
  if (part("kind") != kModelKind) throw no_model(path, fmt::format("its kind is '{}'", part("kind")));
  if (part("format_version") != "1")
    throw IoError(
        IoError::Kind::corrupt, fmt::format("cannot read {}", path),
        fmt::format("its format has version {}, and only version 1 is known", part("format_version")),
        "use a newer veldt");
  Model model{.architecture = part("architecture"),
              .options = options_in(part("options"), path),
              .preprocessing = preprocessing_in(part("preprocessing"), path)};
  model.options = complete(model.architecture, model.options);
  check_size(model, file.tensors, path);
  model.network = make(model.architecture, model.options);
  model.network->load_state_dict(file.tensors);
  model.network->eval();
  return model;
}

// What the text of a file makes go wrong, as an error of that file.
template <class Fn> auto reading(const std::string& path, const Fn& fn) {
  try {
    return fn();
  } catch (const nlohmann::json::exception& e) {
    throw no_model(path, e.what());
  } catch (const IoError&) {
    throw;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {  // of what the file asks for
    throw no_model(path, fmt::format("{}: {}", e.summary(), e.why()));
  }
}

}  // namespace

Model make_model(const std::string& architecture, const Options& options, Rng& rng) {
  Model model{.architecture = architecture,
              .options = complete(architecture, options),
              .preprocessing = about(architecture).preprocessing};
  if (const auto channels = model.options.find("in_channels"); channels != model.options.end())
    model.preprocessing = with_channels(model.preprocessing, static_cast<std::int64_t>(channels->second));
  if (const auto size = model.options.find("image_size"); size != model.options.end()) {
    Preprocessing& p = model.preprocessing;
    const auto side = static_cast<std::int64_t>(size->second);
    p.shorter_side = p.shorter_side * side / p.height;
    p.height = p.width = side;
  }
  model.network = make(architecture, model.options, rng);
  return model;
}

void save(const std::string& path, const Model& model) {
  check_saved(model, path);
  io::write_safetensors(path, model.network->state_dict(),
                        {{"kind", kModelKind},
                         {"format_version", "1"},
                         {"architecture", model.architecture},
                         {"options", in_json(model.options)},
                         {"preprocessing", in_json(model.preprocessing)}});
}

Model load(const std::string& path) {
  const io::SafeTensors file = io::read_safetensors(path);
  return reading(path, [&] { return read_model(file, path); });
}

std::optional<Preprocessing> saved_preprocessing(const io::LoadedState& file, const std::string& path) {
  const auto kind = file.metadata.find("kind"), said = file.metadata.find("preprocessing");
  if (kind == file.metadata.end() || kind->second != kModelKind || said == file.metadata.end()) return {};
  return reading(path, [&] { return preprocessing_in(said->second, path); });
}

void replace_head(nn::Module& network, const std::string& head, std::int64_t outputs, Rng& rng) {
  if (outputs < 1)
    throw ConfigError(fmt::format("a network cannot have {} outputs", outputs), "it has one or more",
                      "give the number of classes");
  for (const nn::NamedModule& inner : network.named_modules()) {
    if (inner.name != head) continue;
    const bool training = inner.module->training();
    if (auto* linear = dynamic_cast<nn::Linear*>(inner.module)) {
      const Tensor& w = linear->weight();
      *linear = nn::Linear(w.size(1), outputs,
                           {.bias = linear->bias().defined(), .dtype = w.dtype(), .device = w.device()}, rng);
    } else if (auto* conv = dynamic_cast<nn::Conv2d*>(inner.module);
               conv != nullptr && conv->weight().size(2) == 1 && conv->weight().size(3) == 1) {
      const Tensor& w = conv->weight();
      *conv = nn::Conv2d(w.size(1), outputs, 1,
                         {.bias = conv->bias().defined(), .dtype = w.dtype(), .device = w.device()}, rng);
    } else {
      throw ConfigError(fmt::format("{} cannot be replaced as a head", head),
                        fmt::format("it is a {}", inner.module->title()),
                        "name a Linear layer, or a Conv2d of kernel 1");
    }
    inner.module->train(training);
    return;
  }
  std::string known;
  for (const nn::NamedModule& inner : network.named_modules())
    if (dynamic_cast<nn::Linear*>(inner.module) != nullptr) known += (known.empty() ? "" : ", ") + inner.name;
  throw ConfigError(fmt::format("the network has no layer '{}'", head),
                    known.empty() ? "it has no Linear layer" : "its Linear layers are " + known,
                    "name the layer that makes the outputs");
}

void replace_head(Model& model, std::int64_t outputs, Rng& rng) {
  replace_head(*model.network, about(model.architecture).head, outputs, rng);
  model.options["classes"] = static_cast<double>(outputs);
}

}  // namespace veldt::models
