// veldt info FILE: what is in it. Each kind of file is described as JSON; the text output is that JSON in
// readable form.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "veldt/app/describe.h"
#include "veldt/cli/exit.h"
#include "veldt/app/inputs.h"
#include "veldt/app/onnx_files.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/terminal.h"
#include "veldt/app/verbs.h"
#include "veldt/field/options.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"

namespace veldt::app {
namespace {

constexpr const char* kInfoExamples =
    "  veldt info cub.safetensors            the network, the picture it was fitted to, how it was trained\n"
    "  veldt info runs/cub --verify          every checkpoint of a run, read through and checked\n"
    "  veldt info cub.png --json\n";

struct InfoFlags {
  std::string path;
  bool verify = false, nodes = false;
  std::int64_t max_pixels = kMaxPixels;
};

using Json = nlohmann::ordered_json;

std::string scalar_in_words(const Json& value) {
  if (value.is_string()) return on_one_line(value.get<std::string>());
  if (value.is_null()) return "-";  // of a checkpoint that cannot be read
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return on_one_line(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string value_in_words(const Json& value) {
  if (!value.is_array()) return scalar_in_words(value);
  std::vector<std::string> parts;
  for (const Json& part : value) parts.push_back(scalar_in_words(part));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

bool is_nested(const Json& value) {
  return value.is_object() || (value.is_array() && !value.empty() && value.front().is_object());
}

std::string key_in_words(const std::string& key) {
  std::string name = on_one_line(key);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key_in_words(key));
  return keys;
}

// Objects of a list, one per line: below a header if they have the same keys, else with a key before each
// value.
std::string rows_in_words(const Json& rows, int depth) {
  const std::vector<std::string> head = keys_of(rows.front());
  const bool is_table =
      std::all_of(rows.begin(), rows.end(), [&](auto& row) { return keys_of(row) == head; });
  std::vector<std::vector<std::string>> lines;
  if (is_table) lines.push_back(head);
  for (const Json& row : rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const auto& [key, value] : row.items())
      line.push_back((is_table ? "" : key_in_words(key) + " ") + value_in_words(value));
  }
  std::vector<std::size_t> widths(is_table ? head.size() : 0);
  for (const auto& line : lines)
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string text;
  for (auto& line : lines) {
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) line[i].resize(widths[i], ' ');
    text += fmt::format("{:{}}{}\n", "", 2 * depth, fmt::join(line, "  "));
  }
  return text;
}

std::string in_words(const Json& object, int depth);

// "key  value" lines; objects within are indented.
std::string in_words(const Json& object, int depth) {
  std::size_t widest = 0;
  for (const auto& [key, value] : object.items())
    if (!is_nested(value)) widest = std::max(widest, key_in_words(key).size());
  std::string text;
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  for (const auto& [key, value] : object.items()) {
    const std::string name = key_in_words(key);
    if (!is_nested(value)) {
      text += fmt::format("{}{:<{}}  {}\n", indent, name, widest, value_in_words(value));
    } else {
      text += fmt::format("{}{}\n", indent, name);
      text += value.is_object() ? in_words(value, depth + 1) : rows_in_words(value, depth + 1);
    }
  }
  return text;
}

// A field's options under the names of the flags of veldt fit, without those that do not apply to this field.
Json options_for_people(const Json& options) {
  const bool takes_omega = field::takes_omega(field::field_options_from_json(options.dump()));
  Json out = Json::object();
  for (const auto& [key, value] : options.items()) {
    const bool is_first = key == "first_omega", is_omega = is_first || key == "omega";
    if (!is_omega)
      out[key] = value;
    else if (takes_omega)
      out[is_first ? "first-omega" : "omega"] = value;
  }
  return out;
}

// The parts of a description that text shows. JSON has all of it, under the names that files use.
Json for_people(Json description) {
  if (description.contains("not_supported") && description["not_supported"].empty())
    description.erase("not_supported");
  description.erase("facts");  // of a recipe's data: a vocabulary, the means of columns
  if (description.contains("recipe") && description["recipe"].is_object()) {
    Json& recipe = description["recipe"];
    recipe.erase("data.files");  // URLs and hashes
    for (auto& [key, texts] : recipe.items())
      if (texts.is_array() && texts.size() == 1) texts = Json(texts.front());
  }
  for (Json* part : {&description, description.contains("field") ? &description["field"] : nullptr}) {
    if (part == nullptr || !part->contains("layers")) continue;
    (*part)["options"] = options_for_people(part->at("options"));
    Json* const training = part->contains("training") ? &part->at("training") : nullptr;
    if (training == nullptr || !training->is_object() || !training->contains("plan")) continue;
    Json& plan = training->at("plan");
    // 0: not asked for.
    for (const char* key : {"steps", "seconds", "target_psnr", "edge_share", "warmup", "schedule_offset"})
      if (plan.is_object() && plan.contains(key) && plan.at(key) == 0) plan.erase(key);
  }
  return description;
}

Json describe(const InfoFlags& flags) {
  if (io::is_directory(flags.path)) return describe_directory(flags.path, flags.verify);
  switch (kind_of_file(flags.path)) {
    case FileKind::picture: return describe_picture(flags.path, flags.verify, flags.max_pixels);
    case FileKind::sound: return describe_sound(flags.path, flags.verify, flags.max_pixels);
    case FileKind::pixel_csv: return describe_table(flags.path, flags.max_pixels);
    case FileKind::safetensors: return describe_safetensors(flags.path, flags.verify);
    case FileKind::onnx: return describe_onnx(flags.path, flags.nodes);
    case FileKind::unknown: break;
  }
  refuse_file(flags.path);
}

int info(const InfoFlags& flags, Context& context) {
  const Json description = describe(flags);
  if (context.json) {
    context.out.json(description);
  } else {
    context.out.text(in_words(for_people(description), 0));
  }
  if (flags.verify) require_whole(description);
  return kOk;
}

}  // namespace

Run add_info(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<InfoFlags>();
  add_path(verb, "FILE", flags->path,
           "a model, any safetensors file, an ONNX graph, a checkpoint, a directory of checkpoints, the "
           "folder of a run, a "
           "picture, a sound or a "
           "pixel table")
      .required();
  add_switch(verb, "--verify", flags->verify,
             "read every byte, check hashes and that all numbers are finite; exits with 9 for damage");
  add_switch(verb, "--nodes", flags->nodes,
             "list the nodes of an ONNX graph and the types of their results, found by a run on zeros, "
             "unknown sizes being 1");
  add_max_pixels(verb, flags->max_pixels, true);
  verb.examples(kInfoExamples);
  return [flags, &context] { return info(*flags, context); };
}

}  // namespace veldt::app
