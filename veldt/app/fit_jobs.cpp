// Turns the files and folders of a command line into pairs of an input and its model file.
#include "veldt/app/frame.h"
#include "veldt/app/fit_jobs.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <system_error>

#include "veldt/cli/exit.h"
#include "veldt/app/inputs.h"
#include "veldt/io/directory.h"
#include "veldt/io/image.h"

namespace veldt::app {
namespace {

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> found;
  for (const std::string& name : io::list_directory(folder)) {
    if (name.starts_with('.'))
      continue;  // files of other programs, such as the ._a.png that macOS puts beside a.png
    const std::string path = (std::filesystem::path(folder) / name).string();
    if ((io::is_picture_name(name) || is_sound_name(name) || name.ends_with(".csv")) && !is_folder(path))
      found.push_back(path);
  }
  if (found.empty())
    throw IoError(IoError::Kind::missing, fmt::format("there is nothing to fit in the directory {}", folder),
                  "it holds no file whose name is that of a picture or a sound", "name the files");
  return found;
}

bool names_folder(const std::string& path) { return is_folder(path) || path.ends_with('/'); }

UsageError no_folder(const std::string& output, std::string_view what_it_is) {
  return {fmt::format("--output cannot be {}", output),
          fmt::format("several inputs give several models, which need a folder, and this {}", what_it_is),
          "give the name of a folder, as in -o models"};
}

}  // namespace

std::vector<FitJob> fit_jobs(const std::vector<std::string>& inputs, const std::string& output) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    if (!is_folder(input)) {
      files.push_back(input);
      continue;
    }
    for (const std::string& file : files_in(input)) files.push_back(file);
  }
  const bool is_one = inputs.size() == 1 && !is_folder(inputs[0]);
  if (is_one && !names_folder(output)) return {{files[0], output, false}};
  const char* const file_of = output.ends_with(".safetensors") ? "model"
                              : io::is_picture_name(output)    ? "picture"
                              : is_sound_name(output)          ? "sound"
                                                               : nullptr;
  if (file_of != nullptr && !names_folder(output))
    throw no_folder(output, fmt::format("is the name of a {}", file_of));
  std::map<std::string, std::string> inputs_of;  // by output
  std::vector<FitJob> jobs;
  for (const std::string& file : files) {
    const std::filesystem::path name = std::filesystem::path(file).stem().concat(".safetensors");
    const std::string to = output.empty() ? "" : (std::filesystem::path(output) / name).string();
    if (const auto [other, is_new] = inputs_of.emplace(to, file); !is_new && !to.empty())
      throw UsageError(fmt::format("{} and {} would both become {}", other->second, file, to),
                       "a model is named after its picture", "fit them into two folders");
    jobs.push_back({file, to, true});
  }
  return jobs;
}

ModelFolder::ModelFolder(const std::vector<FitJob>& jobs) {
  const std::filesystem::path folder = std::filesystem::path(jobs.at(0).output).parent_path();
  if (folder.empty() || (jobs.size() == 1 && !jobs[0].is_in_folder)) return;
  std::error_code failed;
  // A broken link exists, and is kept.
  const auto is_there = [&](const auto& path) { return exists(symlink_status(path, failed)); };
  for (auto missing = folder; !missing.empty() && !is_there(missing); missing = missing.parent_path())
    made_.push_back(missing);
  std::filesystem::create_directories(folder, failed);
  if (is_folder(folder.string())) return;
  remove_empty();
  throw no_folder(folder.string(), "cannot be one");
}

void ModelFolder::remove_empty() {
  std::error_code is_in_use;
  for (const std::filesystem::path& folder : made_) std::filesystem::remove(folder, is_in_use);
}

}  // namespace veldt::app
