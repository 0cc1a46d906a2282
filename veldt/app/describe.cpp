// Looks into models, checkpoints, pictures, sounds and tables, and puts what they hold into JSON.
#include "veldt/app/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "veldt/app/inputs.h"
#include "veldt/codec/packed_file.h"
#include "veldt/compress/quantize.h"
#include "veldt/core/error.h"
#include "veldt/field/field.h"
#include "veldt/io/csv.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/io/json.h"
#include "veldt/io/pixel_csv.h"
#include "veldt/io/safetensors.h"
#include "veldt/io/sound.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/agent.h"
#include "veldt/recipe/trained.h"
#include "veldt/train/checkpoint.h"

namespace veldt::app {
namespace {

using Json = nlohmann::ordered_json;

Json begun(const std::string& kind, const std::string& path) {
  return {{"kind", kind}, {"path", path}, {"bytes", io::InputFile(path).size()}};
}

IoError corrupt(const std::string& path, const std::string& why) {
  return {IoError::Kind::corrupt, fmt::format("{} is damaged", path), why,
          "fit it again, or go back to an older checkpoint"};
}

// JSON from a file's metadata; text that is not JSON, or nests too deep, stays text.
Json parsed_or_text(const std::string& text) {
  try {
    return io::parse_json<Json>(text);
  } catch (const IoError&) {
    return text;
  }
}

// How many weights have so many bits, and are multiplied by what: {"8 bits, static": 5}. What cannot be read
// stays text.
Json quantised_weights(const std::string& text) {
  try {
    Json counts = Json::object();
    for (const auto& [name, format] : compress::scheme_of_json(text).weights) {
      const std::string kind = fmt::format("{} bits, {}", format.bits, compress::input_name(format.input));
      counts[kind] = counts.value(kind, 0) + 1;
    }
    return counts;
  } catch (const IoError&) {
    return text;
  }
}

template <class T> std::int64_t not_finite_in(const Tensor& tensor) {
  const std::vector<T> values = tensor.values<T>();
  return std::count_if(values.begin(), values.end(), [](T v) { return !std::isfinite(v); });
}

Json tensor_rows(const io::SafeTensorsHeader& header) {
  Json rows = Json::array();
  for (const io::TensorInfo& tensor : header.tensors)
    rows.push_back({{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}});
  return rows;
}

void add_model(Json& out, const io::SafeTensorsHeader& header) {
  const auto& metadata = header.metadata;
  const auto text_of = [&](const char* key) {
    return metadata.contains(key) ? metadata.at(key) : std::string();
  };
  out["format_version"] = parsed_or_text(text_of("format_version"));
  const field::FieldOptions options = field::field_options_from_json(text_of("options"));
  out["model"] = name_of(model_of(options));
  out["layers"] = layers_in_words(options);
  out["parameters"] = field::parameter_count(options);
  if (options.is_sound())
    out["fitted_to"] = {{"seconds", static_cast<double>(options.height) / static_cast<double>(options.rate)},
                        {"frames", options.height},
                        {"rate", options.rate},
                        {"channels", options.channels}};
  else
    out["fitted_to"] = {{"width", options.width},
                        {"height", options.height},
                        {"channels", channels_in_words(options.channels)}};
  if (options.is_clip()) out["fitted_to"].update({{"frames", options.frames}, {"seconds", options.seconds}});
  out["options"] = parsed_or_text(text_of("options"));
  if (!metadata.contains("training")) return;
  Json training = parsed_or_text(text_of("training"));
  // The plan repeats the options.
  if (training.is_object() && training.contains("plan") && training.at("plan").is_object())
    training["plan"].erase("field");
  out["training"] = training;
}

void verify_tensors(Json& out, const std::string& path) {
  const io::SafeTensors file = io::read_safetensors(path);
  const bool is_model = !field::field_kind(file.metadata).empty();
  if (is_model) field::Field::from_tensors(file.tensors, file.metadata, path);
  std::int64_t all = 0;
  for (const auto& [name, tensor] : file.tensors) {
    const std::int64_t count = count_not_finite(tensor);
    if (count > 0 && is_model)
      throw corrupt(
          path, fmt::format("{} of {} numbers of the tensor {} are not finite", count, tensor.numel(), name));
    all += count;
  }
  out["not_finite"] = all;
  out["hashes"] = io::read_safetensors_header(path).digests.empty() ? "none in the file" : "match";
  out["verified"] = true;
}

// What is known of a packed picture before it is decoded.
void add_packed(Json& out, const std::string& path) {
  const std::string bytes = io::read_file(path);
  const codec::PackedHeader header =
      codec::read_packed(bytes, path, std::numeric_limits<std::int64_t>::max());
  out["family"] = header.family == codec::Family::drawing ? "drawing" : "photograph";
  out["bits_a_pixel"] = 8 * static_cast<double>(bytes.size()) /
                        (static_cast<double>(header.size.width) * static_cast<double>(header.size.height));
  out["complete"] = header.complete;
}

bool is_checkpoint_name(const std::string& name) { return train::step_of_checkpoint(name).has_value(); }

std::string last_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.find_last_of('/') + 1);
}

// The plain values of state.json: what a run was doing when it was saved.
Json state_of(const std::string& path) {
  Json out = Json::object();
  const Json state = parsed_or_text(io::read_file(path + "/state.json"));
  if (state.is_object())
    for (const auto& [key, value] : state.items())
      if (value.is_primitive()) out[key] = value;
  return out;
}

Json describe_checkpoint(const std::string& path) {
  const train::CheckpointInfo info = train::verify_checkpoint(path);
  Json out = {{"kind", "checkpoint"}, {"path", path}, {"step", info.step}, {"format_version", info.version}};
  Json files = Json::object();
  for (const auto& [name, bytes] : info.files) files[name] = bytes;
  out["files"] = files;
  out["state"] = state_of(path);
  const io::SafeTensorsHeader header = io::read_safetensors_header(path + "/model.safetensors");
  if (!field::field_kind(header.metadata).empty()) {
    out["field"] = Json::object();
    add_model(out["field"], header);
  }
  out["tensors"] = tensor_rows(header);
  out["verified"] = true;
  return out;
}

// One line per checkpoint: its step, and whether it is complete.
Json describe_run(const std::string& path, const std::vector<std::string>& names) {
  Json rows = Json::array();
  for (const std::string& name : names) {
    try {
      const train::CheckpointInfo info = train::verify_checkpoint(path + "/" + name);
      std::uint64_t bytes = 0;
      for (const auto& [file, size] : info.files) bytes += size;
      rows.push_back({{"name", name}, {"step", info.step}, {"bytes", bytes}, {"damage", "none"}});
    } catch (const IoError& error) {
      rows.push_back({{"name", name},
                      {"step", nullptr},
                      {"bytes", nullptr},
                      {"damage", fmt::format("{}: {}", error.summary(), error.why())}});
    }
  }
  return {{"kind", "run"}, {"path", path}, {"checkpoints", rows}};
}

}  // namespace

std::string layers_in_words(const field::FieldOptions& options) {
  std::string text = fmt::format("{}", options.inputs());
  std::int64_t features = 0;
  for (const field::EncodingOptions& encoding : options.encodings)
    features += field::features_of(encoding, options.inputs());
  if (features > 0) text += fmt::format("-{}", features);
  for (const std::int64_t width : options.widths) text += fmt::format("-{}", width);
  return text + fmt::format("-{}", options.channels);
}

Json describe_picture(const std::string& path, bool verify, std::int64_t max_pixels) {
  const io::ImageInfo info = io::image_info(path);
  Json out = begun("picture", path);
  out["format"] = io::name_of(info.format);
  out["width"] = info.width;
  out["height"] = info.height;
  out["channels"] = channels_in_words(info.channels);
  out["bits"] = info.bit_depth;
  out["palette"] = info.palette;
  out["interlaced"] = info.interlaced;
  out["pictures"] = info.pictures;
  if (const std::string left_out = io::left_out(info); !left_out.empty()) out["left_out"] = left_out;
  if (info.format == io::ImageFormat::packed) add_packed(out, path);
  if (verify) {
    io::read_image(path, {.max_pixels = max_pixels, .keep_bytes = true});
    out["verified"] = true;
  }
  return out;
}

Json describe_sound(const std::string& path, bool verify, std::int64_t max_pixels) {
  const io::SoundInfo info = io::sound_info(path);
  Json out = begun("sound", path);
  out["format"] = info.format;
  out["seconds"] = static_cast<double>(info.frames) / static_cast<double>(info.rate);
  out["frames"] = info.frames;
  out["rate"] = info.rate;
  out["channels"] = info.channels;
  if (verify) {
    io::read_sound(path, {.max_samples = max_pixels});
    out["verified"] = true;
  }
  return out;
}

namespace {

// Whether the first line of a table says that its lines are pixels, or is meant to.
bool has_pixels(const std::string& path) {
  std::string line(64, '\0');
  io::InputFile file(path);
  line.resize(file.read(line.data(), line.size()));
  if (line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
  line.erase(std::min(line.find('\n'), line.size()));
  std::erase_if(line, [](char c) { return c == ' ' || c == '\r' || c == '"'; });
  for (char& c : line)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return line == "x,y,pixel_value" || line == "x,y,grey" || line == "x,y,r,g,b";
}

std::optional<double> number_in(const std::string& field) {
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const bool is_number = error == std::errc() && end == field.data() + field.size() && std::isfinite(value);
  return is_number ? std::optional(value) : std::nullopt;
}

// Of numbers the least and the most, of texts how many different ones.
Json describe_column(const std::string& name, const std::vector<std::string>& fields) {
  std::optional<double> least, most;
  bool numbers = true;
  for (const std::string& field : fields) {
    const std::optional<double> value = number_in(field);
    numbers = numbers && value;
    if (!numbers) break;
    least = std::min(*value, least.value_or(*value)), most = std::max(*value, most.value_or(*value));
  }
  const auto shown = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  if (numbers)
    return {{"column", name}, {"holds", "numbers"}, {"least", shown(least)}, {"most", shown(most)}};
  const std::set<std::string> different(fields.begin(), fields.end());
  return {{"column", name}, {"holds", "texts"}, {"different", different.size()}};
}

// What a recipe for a table or a series can learn from.
Json describe_columns(const std::string& path) {
  const std::vector<std::string> columns = io::csv_columns(path);
  const io::CsvTable table = io::read_csv(path, {}, columns);
  Json out = begun("table", path), rows = Json::array();
  out["rows"] = table.values.size(0);
  for (std::size_t i = 0; i < columns.size(); ++i)
    rows.push_back(describe_column(columns[i], table.texts.at(i)));
  out["columns"] = rows;
  return out;
}

}  // namespace

Json describe_table(const std::string& path, std::int64_t max_pixels) {
  if (!has_pixels(path)) return describe_columns(path);
  const Tensor picture = io::read_pixel_csv(path, {.max_pixels = max_pixels});
  Json out = begun("picture", path);
  out["format"] = "pixel table";
  out["width"] = picture.size(1);
  out["height"] = picture.size(0);
  out["channels"] = channels_in_words(picture.size(2));
  out["verified"] = true;
  return out;
}

Json describe_safetensors(const std::string& path, bool verify) {
  const io::SafeTensorsHeader header = io::read_safetensors_header(path);
  const bool is_model = !field::field_kind(header.metadata).empty();
  const auto kind = header.metadata.find("kind");
  const bool is_agent = kind != header.metadata.end() && kind->second == recipe::kAgentFile.name;
  const bool is_trained =
      is_agent || (kind != header.metadata.end() && kind->second == recipe::kNetworkFile.name);
  Json out = begun(is_model     ? field::field_kind(header.metadata)
                   : is_agent   ? "agent"
                   : is_trained ? "network"
                                : "safetensors",
                   path);
  if (is_model) {
    add_model(out, header);
  } else if (is_trained) {
    if (header.metadata.contains("quantization"))
      out["quantised"] = quantised_weights(header.metadata.at("quantization"));
    for (const char* part : {"recipe", "scores", "facts"})
      if (header.metadata.contains(part)) out[part] = parsed_or_text(header.metadata.at(part));
  } else {
    Json metadata = Json::object();
    for (const auto& [key, value] : header.metadata)
      if (!key.starts_with("veldt.")) metadata[key] = value;
    if (!metadata.empty()) out["metadata"] = metadata;
  }
  out["tensors"] = tensor_rows(header);
  if (verify) verify_tensors(out, path);
  return out;
}

Json describe_directory(const std::string& path, bool verify) {
  const std::vector<std::string> names = io::list_directory(path);
  std::vector<std::string> checkpoints;
  std::copy_if(names.begin(), names.end(), std::back_inserter(checkpoints), is_checkpoint_name);
  const bool has_manifest = std::find(names.begin(), names.end(), "MANIFEST.json") != names.end();
  if (has_manifest || is_checkpoint_name(last_name(path))) {
    Json out = describe_checkpoint(path);
    if (verify) verify_tensors(out, path + "/model.safetensors");
    return out;
  }
  if (!checkpoints.empty()) return describe_run(path, checkpoints);
  const bool is_of_training = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "model.safetensors" || name == "best.safetensors";
  });
  if (is_of_training) return describe_safetensors(recipe::model_file(path), verify);
  throw IoError(IoError::Kind::malformed, fmt::format("cannot describe {}", path),
                "it is a directory without checkpoints",
                "give a file, a checkpoint or a directory that holds some");
}

std::int64_t count_not_finite(const Tensor& tensor) {
  if (tensor.dtype() == DType::f32) return not_finite_in<float>(tensor);
  if (tensor.dtype() == DType::f64) return not_finite_in<double>(tensor);
  return is_float(tensor.dtype()) ? not_finite_in<float>(to(tensor, DType::f32)) : 0;
}

void require_whole(const Json& description) {
  if (!description.contains("checkpoints")) return;
  const std::string path = description.at("path");
  for (const Json& row : description.at("checkpoints"))
    if (row.at("damage") != std::string("none"))
      throw corrupt(fmt::format("{}/{}", path, row.at("name").get<std::string>()), row.at("damage"));
}

}  // namespace veldt::app
