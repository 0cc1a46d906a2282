// What the files of trained networks and of agents have in common: safetensors whose metadata say what kind
// they are, the recipe, and its scores.
// Tests: tests/recipe/trained_test.cpp, tests/app/play_test.cpp, tests/fuzz/models.cpp
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "veldt/io/safetensors.h"
#include "veldt/recipe/recipe.h"
#include "veldt/train/metric.h"

namespace veldt::recipe {

// The "kind" in the metadata of such a file, how errors call what it holds, and what they advise.
struct FileKind {
  const char* name;
  const char* content;
  const char* fix;
};
inline constexpr FileKind kNetworkFile{
    "veldt.recipe", "network of a recipe",
    "give a model.safetensors that veldt train wrote, or the folder of its run"};
inline constexpr FileKind kAgentFile{
    "veldt.agent", "agent",
    "give a model.safetensors that veldt train wrote for a recipe with an environment, or the folder of its "
    "run"};

struct TrainedFile {
  std::string path;
  io::SafeTensors file;
  Recipe recipe = {};
  train::Scores scores = {};  // those that are finite
  double elements = 0;        // of all tensors together: a file's recipe may ask for more than it holds

  // Throws IoError malformed, as `kind`, for metadata that are not there.
  const std::string& part(const FileKind& kind, const char* key) const;
};

IoError not_of_kind(const FileKind& kind, const std::string& path, const std::string& why);

// The file that a path names: itself; of the folder of a run its model.safetensors, or if the run has not
// ended its best.safetensors. Throws IoError missing for a folder with neither.
std::string model_file(const std::string& path);
// Calls `build` with that file. Whatever is wrong with what it says is an IoError: missing, malformed,
// corrupt.
void read_trained(const std::string& path, const FileKind& kind,
                  const std::function<void(const TrainedFile&)>& build);

// "kind", "format_version", "recipe" and "scores" (JSON).
std::map<std::string, std::string> metadata_of(const FileKind& kind, const Recipe& recipe,
                                               const train::Scores& scores);

// The recipe's keys and values as JSON, except for the keys in `without`.
std::string in_json(const Recipe& recipe, const std::vector<std::string>& without = {});

}  // namespace veldt::recipe
