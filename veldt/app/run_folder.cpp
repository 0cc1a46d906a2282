// Names the folder of a run after its recipe, and refuses a folder that holds other files.
#include "veldt/app/frame.h"
#include "veldt/app/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

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

// N of NAME-N, 1 of NAME, 0 of other folders.
int number_of(const std::string& folder, const std::string& name) {
  if (folder == name) return 1;
  if (!folder.starts_with(name + '-')) return 0;
  const char *begin = folder.data() + name.size() + 1, *end = folder.data() + folder.size();
  int number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end && number >= 2 && *begin != '0' ? number : 0;
}

// Numbers may be missing, and a run of a small number may have been resumed after the others. A recipe NAME-N
// beside this one has that folder for itself.
std::optional<std::string> newest_run(const fs::path& recipe, const std::string& name, const char* mark) {
  std::optional<std::string> newest;
  std::pair<fs::file_time_type, int> last;
  std::error_code error;
  for (fs::directory_iterator at("runs", error), end; !error && at != end; at.increment(error)) {
    const std::string folder = at->path().filename().string(), marked = at->path() / mark;
    const int number = number_of(folder, name);
    if (number == 0 || !io::exists(marked)) continue;
    if (number > 1 && io::exists(recipe.parent_path() / (folder + ".toml"))) continue;
    std::error_code none;
    const std::pair saved(fs::last_write_time(marked, none), number);
    if (none || (newest && saved <= last)) continue;
    newest = "runs/" + folder;
    last = saved;
  }
  return newest;
}

}  // namespace

std::string folder_named_after(const std::string& recipe, bool again, const FolderKind& kind) {
  const fs::path file = fs::path(recipe).filename();
  const std::string stem = file.stem().string(), name = stem + kind.suffix, first = "runs/" + name;
  if (const std::string fault = fault_of(stem); !fault.empty())
    throw UsageError(fmt::format("no folder of a run can be named after '{}'", file.string()), fault,
                     "name the folder, --out DIR, or rename the recipe");
  std::string folder = again ? newest_run(recipe, name, kind.mark).value_or(first) : first;
  for (int n = 2; !again && io::exists(folder + '/' + kind.mark); ++n)
    folder = fmt::format("{}-{}", first, n);
  if (std::error_code none; fs::is_symlink(folder, none))
    throw UsageError(fmt::format("cannot write the run into {}", folder), "it is a symbolic link",
                     "give the folder that it points to, --out DIR, or remove the link");
  return folder;
}

void check_for_strange_files(const std::string& folder) {
  if (io::is_directory(folder + "/checkpoints")) return;
  for (const char* name : {"model.safetensors", "best.safetensors", "metrics.csv", "metrics.jsonl",
                           "curves.svg", "sample.txt", "forecast.svg", "top", "record.json", "report.html"})
    if (io::exists(folder + '/' + name))
      throw UsageError(
          fmt::format("{} already holds {}", folder, name),
          "it does not belong to a run (there is no checkpoints/ beside it), and a new run would replace it",
          "name another folder, --out DIR, or move it away");
}

}  // namespace veldt::app
