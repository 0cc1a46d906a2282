// Finds records of runs.
#include "veldt/app/run_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>

#include "veldt/cli/terminal.h"
#include "veldt/core/error.h"
#include "veldt/io/directory.h"

namespace veldt::app {

namespace {

namespace fs = std::filesystem;

bool has_record(const std::string& folder) { return io::exists(folder + "/" + live::kRecordFile); }

// The last `parts` names of a path.
std::string end_of(const fs::path& path, int parts) {
  std::string name;
  fs::path rest = path;
  for (int i = 0; i < parts && rest.has_filename(); ++i, rest = rest.parent_path())
    name = name.empty() ? rest.filename().string() : rest.filename().string() + "/" + name;
  return name.empty() ? path.string() : name;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> run_folders(const std::vector<std::string>& paths) {
  constexpr std::size_t kMostRuns = 100;
  std::vector<std::string> folders;
  for (const std::string& path : paths) {
    const std::size_t before = folders.size();
    if (has_record(path)) {
      folders.push_back(path);
    } else if (io::is_directory(path)) {
      for (const std::string& name : io::list_directory(path)) {
        const std::string below = path + "/" + name;
        if (io::is_directory(below) && has_record(below)) folders.push_back(below);
      }
    }
    if (folders.size() == before)
      throw UsageError(fmt::format("there is no run in {}", path),
                       io::is_directory(path)
                           ? fmt::format("neither it nor a folder in it has a {}", live::kRecordFile)
                       : io::exists(path) ? "it is a file, and a run is a folder"
                                          : "there is no such folder",
                       "give the folder of a run: of veldt train, or of veldt fit --checkpoint");
  }
  if (folders.size() > kMostRuns)
    throw UsageError(fmt::format("there are {} runs", folders.size()),
                     fmt::format("at most {} can be seen side by side", kMostRuns), "name those to look at");
  std::vector<std::pair<std::string, std::string>> named;
  for (const std::string& folder : folders) {
    std::error_code none;
    const fs::path whole = fs::weakly_canonical(folder, none);
    for (int parts = 1; parts < 10; ++parts) {
      const std::string name = end_of(whole, parts);
      const auto same = std::count_if(folders.begin(), folders.end(), [&](const std::string& other) {
        return end_of(fs::weakly_canonical(other, none), parts) == name;
      });
      if (same > 1 && parts < 9) continue;
      named.emplace_back(name, folder);
      break;
    }
  }
  return named;
}

std::vector<RunRecord> read_runs(const std::vector<std::string>& paths) {
  std::vector<RunRecord> runs;
  std::exception_ptr first;
  std::vector<std::string> unreadable;
  for (const auto& [name, folder] : run_folders(paths)) {
    try {
      runs.push_back({name, folder, live::load_record(folder)});
    } catch (const IoError& e) {
      if (!first) first = std::current_exception();
      unreadable.push_back(fmt::format("{} is left out: {} ({})", folder, e.summary(), e.why()));
    }
  }
  if (runs.empty()) std::rethrow_exception(first);
  for (const std::string& text : unreadable) print_warning(text);
  return runs;
}

}  // namespace veldt::app
