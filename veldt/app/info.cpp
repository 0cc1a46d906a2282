// veldt info FILE: what is in it. Each kind of file is described as JSON, and text is that JSON laid out for
// people.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "veldt/app/describe.h"
#include "veldt/app/inputs.h"
#include "veldt/app/options.h"
#include "veldt/app/terminal.h"
#include "veldt/app/verbs.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"

namespace veldt::app {
namespace {

constexpr const char* kExamples =
    "  veldt info cub.safetensors            the network, the picture it was fitted to, how it was trained\n"
    "  veldt info runs/cub --verify          every checkpoint of a run, read through and checked\n"
    "  veldt info cub.png --json\n";

struct InfoFlags {
  std::string path;
  bool verify = false;
  std::int64_t max_pixels = kMaxPixels;
};

using Json = nlohmann::ordered_json;

std::string scalar_in_words(const Json& value) {
  if (value.is_string()) return on_one_line(value.get<std::string>());
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

std::string in_words(const Json& object, int depth);

// Objects of a list, one on each line, the first value padded into a column.
std::string rows_in_words(const Json& rows, int depth) {
  std::size_t widest = 0;
  for (const Json& row : rows)
    if (!row.empty()) widest = std::max(widest, value_in_words(row.front()).size());
  std::string text;
  for (const Json& row : rows) {
    std::string line;
    for (const auto& [key, value] : row.items())
      line +=
          line.empty() ? fmt::format("{:<{}}", value_in_words(value), widest) : "  " + value_in_words(value);
    text += std::string(static_cast<std::size_t>(2 * depth), ' ') + line + "\n";
  }
  return text;
}

std::string key_in_words(const std::string& key) {
  std::string name = on_one_line(key);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

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

Json describe(const InfoFlags& flags) {
  if (io::is_directory(flags.path)) return describe_directory(flags.path, flags.verify);
  switch (kind_of_file(flags.path)) {
    case FileKind::picture: return describe_picture(flags.path, flags.verify, flags.max_pixels);
    case FileKind::sound: return describe_sound(flags.path, flags.verify, flags.max_pixels);
    case FileKind::pixel_csv: return describe_table(flags.path, flags.max_pixels);
    case FileKind::safetensors: return describe_safetensors(flags.path, flags.verify);
    case FileKind::unknown: break;
  }
  refuse_file(flags.path);
}

int info(const InfoFlags& flags, Context& context) {
  const Json description = describe(flags);
  if (context.json) {
    context.out.json(description);
  } else {
    context.out.text(in_words(description, 0));
  }
  if (flags.verify) require_whole(description);
  return kOk;
}

}  // namespace

Run add_info(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<InfoFlags>();
  add_path(verb, "FILE", flags->path,
           "a model, any safetensors file, a checkpoint, a directory of checkpoints, a picture, a sound or a "
           "pixel table")
      .required();
  add_switch(verb, "--verify", flags->verify,
             "read every byte, check hashes and that all numbers are finite; exits with 9 for damage");
  add_max_pixels(verb, flags->max_pixels);
  verb.app->footer(kExamples);
  return [flags, &context] { return info(*flags, context); };
}

}  // namespace veldt::app
