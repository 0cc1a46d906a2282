// Names the folder of a run after its recipe, and refuses a folder that holds other files.
#include "veldt/app/frame.h"
#include "veldt/app/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "veldt/cli/exit.h"
#include "veldt/io/directory.h"

namespace veldt::app {
namespace {

namespace fs = std::filesystem;

// Why a folder below runs/ cannot have this name; empty if it can.
const char* fault_of(const std::string& name) {
  if (name.empty()) return "without its ending it is empty";
  if (name.starts_with('.')) return "names that start with a dot are hidden or point elsewhere";
  if (name.starts_with('-')) return "names that start with a dash look like flags";
  const auto is_control = [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; };
  if (std::any_of(name.begin(), name.end(), is_control)) return "it holds a control character";
  return "";
}

bool is_of(const std::string& folder, const std::string& name) {
  if (folder == name) return true;
  const std::string start = name + '-';
  return folder.starts_with(start) && folder.size() > start.size() &&
         folder.find_first_not_of("0123456789", start.size()) == folder.npos;
}

// Numbers may be missing, and a run of a small number may have been resumed after the others.
std::optional<std::string> newest_run(const std::string& name) {
  std::optional<std::string> newest;
  fs::file_time_type when;
  std::error_code error;
  for (fs::directory_iterator at("runs", error), end; !error && at != end; at.increment(error)) {
    const std::string folder = at->path().filename().string();
    std::error_code none;
    const fs::file_time_type saved = fs::last_write_time(at->path() / "checkpoints", none);
    if (none || !is_of(folder, name) || (newest && saved <= when)) continue;
    newest = "runs/" + folder;
    when = saved;
  }
  return newest;
}

}  // namespace

std::string folder_named_after(const std::string& recipe, bool again) {
  const fs::path file = fs::path(recipe).filename();
  const std::string name = file.stem().string(), first = "runs/" + name;
  if (const std::string fault = fault_of(name); !fault.empty())
    throw UsageError(fmt::format("no folder of a run can be named after '{}'", file.string()), fault,
                     "name the folder, --out DIR, or rename the recipe");
  std::string folder = again ? newest_run(name).value_or(first) : first;
  for (int n = 2; !again && io::is_directory(folder + "/checkpoints"); ++n)
    folder = fmt::format("{}-{}", first, n);
  if (std::error_code none; fs::is_symlink(folder, none))
    throw UsageError(fmt::format("cannot write the run into {}", folder), "it is a symbolic link",
                     "give the folder that it points to, --out DIR, or remove the link");
  return folder;
}

void check_for_strange_files(const std::string& folder) {
  if (io::is_directory(folder + "/checkpoints")) return;
  for (const char* name : {"model.safetensors", "best.safetensors", "metrics.csv", "metrics.jsonl",
                           "curves.svg", "sample.txt", "forecast.svg", "top"})
    if (io::exists(folder + '/' + name))
      throw UsageError(
          fmt::format("{} already holds {}", folder, name),
          "it does not belong to a run (there is no checkpoints/ beside it), and a new run would replace it",
          "name another folder, --out DIR, or move it away");
}

}  // namespace veldt::app
