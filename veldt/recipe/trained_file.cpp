// Reads and writes the metadata of model files.
#include "veldt/recipe/trained_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"

namespace veldt::recipe {
namespace {

using FileJson = nlohmann::ordered_json;

void read_metadata(TrainedFile& f, const FileKind& kind) {
  const std::string& is = f.part(kind, "kind");
  if (is != kind.name && is == kAgentFile.name)
    throw IoError(IoError::Kind::malformed, fmt::format("{} holds an agent", f.path),
                  "it acts in an environment, and there are no data for it", "use veldt play");
  if (is != kind.name) throw not_of_kind(kind, f.path, fmt::format("its kind is '{}'", is));
  if (const std::string& version = f.part(kind, "format_version"); version != "1")
    throw IoError(IoError::Kind::corrupt, fmt::format("cannot read {}", f.path),
                  fmt::format("its format has version {}, and only version 1 is known", version),
                  "use a newer veldt");
  std::vector<std::pair<std::string, std::vector<std::string>>> given;
  const auto written = io::parse_json<FileJson>(f.part(kind, "recipe"));
  for (const auto& [key, texts] : written.items())
    given.emplace_back(key, texts.get<std::vector<std::string>>());
  f.recipe = recipe_of(given, f.path);
  if (const auto found = f.file.metadata.find("scores"); found != f.file.metadata.end()) {
    const auto scores = io::parse_json<FileJson>(found->second);
    for (const auto& [name, value] : scores.items())
      if (value.is_number()) f.scores.emplace_back(name, value.get<double>());  // null: it was not finite
  }
  for (const auto& [name, tensor] : f.file.tensors) f.elements += static_cast<double>(tensor.numel());
}

}  // namespace

IoError not_of_kind(const FileKind& kind, const std::string& path, const std::string& why) {
  return {IoError::Kind::malformed, fmt::format("{} holds no {}", path, kind.content), why, kind.fix};
}

const std::string& TrainedFile::part(const FileKind& kind, const char* key) const {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end())
    throw not_of_kind(kind, path, fmt::format("its metadata lacks '{}'", key));
  return found->second;
}

std::string model_file(const std::string& path) {
  if (!io::is_directory(path)) return path;
  for (const char* name : {"model.safetensors", "best.safetensors"})
    if (std::string file = (std::filesystem::path(path) / name).string(); io::exists(file)) return file;
  throw IoError(IoError::Kind::missing, fmt::format("there is no network in {}", path),
                "the folder has neither model.safetensors nor best.safetensors",
                "name the folder of a run of veldt train, or a file that it wrote");
}

void read_trained(const std::string& path, const FileKind& kind,
                  const std::function<void(const TrainedFile&)>& build) {
  const std::string name = model_file(path);
  TrainedFile f{.path = name, .file = io::read_safetensors(name)};
  try {
    read_metadata(f, kind);
    build(f);
  } catch (const IoError&) {
    throw;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const nlohmann::json::exception& e) {
    throw not_of_kind(kind, name, e.what());
  } catch (const Error& e) {  // of a file, not of the command line
    throw not_of_kind(kind, name, fmt::format("{}: {}", e.summary(), e.why()));
  }
}

std::string in_json(const Recipe& recipe, const std::vector<std::string>& without) {
  FileJson json = FileJson::object();
  for (const auto& [key, texts] : recipe.given)
    if (std::find(without.begin(), without.end(), key) == without.end()) json[key] = texts;
  return io::dump_json(json);
}

std::map<std::string, std::string> metadata_of(const FileKind& kind, const Recipe& recipe,
                                               const train::Scores& scores) {
  FileJson found = FileJson::object();
  for (const auto& [name, value] : scores) found[name] = value;
  return {{"kind", kind.name},
          {"format_version", "1"},
          {"recipe", in_json(recipe)},
          {"scores", io::dump_json(found)}};
}

}  // namespace veldt::recipe
