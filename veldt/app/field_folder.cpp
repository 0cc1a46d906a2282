// Says what a folder holds: a run, several models, or none.
#include "veldt/app/field_folder.h"

#include <fmt/format.h>

#include <vector>

#include "veldt/app/network_header.h"
#include "veldt/cli/context.h"
#include "veldt/cli/exit.h"
#include "veldt/io/directory.h"

namespace veldt::app {
namespace {

bool is_run(const std::string& folder) {
  for (const char* name : {"/model.safetensors", "/best.safetensors"})
    if (io::exists(folder + name)) return !holds_field(folder + name);
  return false;
}

// Patterns of the shell for the models in a folder.
std::vector<std::string> models_in(const std::string& folder) {
  std::vector<std::string> patterns;
  for (const char* ending : {".safetensors", ".vp"}) {
    bool found = false;
    for (const std::string& name : io::list_directory(folder))
      found |= !name.starts_with('.') && name.ends_with(ending);
    if (found) patterns.push_back(quoted_for_shell({folder}) + "/*" + ending);
  }
  return patterns;
}

}  // namespace

void refuse_folder(std::string folder, const std::string& verb, const std::string& output,
                   const std::string& rest) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const std::string what = fmt::format("cannot {} the folder {}", verb, folder);
  if (is_run(folder))
    throw UsageError(what, "it is a run of veldt train, whose network is no field and draws no picture",
                     verb == "export" ? "write it as ONNX: -o x.onnx"
                                      : fmt::format("see what it says: veldt predict {} INPUT",
                                                    quoted_for_shell({folder})));
  const std::vector<std::string> models = models_in(folder);
  if (models.empty())
    throw UsageError(
        what, "it holds no model: no name in it ends in .safetensors or .vp",
        "fit or pack a picture first, then name the file: veldt fit picture.png -o m.safetensors");
  // Where both endings occur, a.safetensors and a.vp would become one file. A folder cannot be called as a
  // file.
  const std::string name = models.size() == 1 ? "${m%.*}" : output == "/" ? "$m.tiles" : "$m";
  throw UsageError(
      what, fmt::format("veldt {} takes one model at a time", verb),
      fmt::format("name one, or take all in a shell: for m in {}; do veldt {} \"$m\" -o \"{}{}\"{}; done",
                  fmt::join(models, " "), verb, name, output, rest));
}

}  // namespace veldt::app
