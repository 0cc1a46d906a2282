// A scheme as the JSON of a file's metadata, which is untrusted when it is read.
#include <nlohmann/json.hpp>

#include "veldt/compress/quantize.h"
#include "veldt/core/error.h"
#include "veldt/io/json.h"

namespace veldt::compress {
namespace {

using SchemeJson = nlohmann::ordered_json;

constexpr const char* kInputs[] = {"floats", "dynamic", "fixed"};
constexpr int kSchemeVersion = 1;

[[noreturn]] void refuse_scheme(const std::string& why) {
  throw IoError(IoError::Kind::malformed, "what a file says of its quantisation cannot be read", why,
                "give a file that veldt quantize wrote");
}

nn::QuantizedInput input_named(const std::string& name) {
  for (std::size_t i = 0; i < std::size(kInputs); ++i)
    if (name == kInputs[i]) return static_cast<nn::QuantizedInput>(i);
  refuse_scheme("an input is '" + name + "'");
}

}  // namespace

std::string in_json(const Scheme& scheme) {
  SchemeJson json{{"format_version", kSchemeVersion}};
  json["folded"] = SchemeJson::object();
  for (const auto& [layer, norm] : scheme.folded) json["folded"][norm] = layer;
  json["weights"] = SchemeJson::object();
  for (const auto& [name, format] : scheme.weights)
    json["weights"][name] = {{"bits", format.bits},
                             {"input", kInputs[static_cast<std::size_t>(format.input)]}};
  json["links"] = SchemeJson::object();
  for (const auto& [from, link] : scheme.links) json["links"][from] = {{"to", link.to}, {"relu", link.relu}};
  return io::dump_json(json);
}

Scheme scheme_of_json(std::string_view text) {
  const auto json = io::parse_json<SchemeJson>(text);
  try {
    const auto version = io::whole_number<int>(json.at("format_version"));
    if (version != kSchemeVersion)
      throw IoError(IoError::Kind::corrupt, "what a file says of its quantisation cannot be read",
                    str("its version is not ", kSchemeVersion), "use a newer veldt");
    Scheme scheme;
    for (const auto& [norm, layer] : json.at("folded").items())
      scheme.folded.push_back({layer.template get<std::string>(), norm});
    for (const auto& [name, format] : json.at("weights").items()) {
      const auto bits = io::whole_number<int>(format.at("bits"));
      if (bits != 8 && bits != 4) refuse_scheme("a weight has neither 8 nor 4 bits");
      scheme.weights[name] = {*bits, input_named(format.at("input").template get<std::string>())};
    }
    for (const auto& [from, link] : json.at("links").items())
      scheme.links[from] = {link.at("to").template get<std::string>(), link.at("relu").template get<bool>()};
    return scheme;
  } catch (const nlohmann::json::exception& e) {
    refuse_scheme(e.what());
  }
}

}  // namespace veldt::compress
