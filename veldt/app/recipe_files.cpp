// Chooses the folder of a recipe's data, and downloads into it what is missing.
#include "veldt/app/frame.h"
#include "veldt/app/recipe_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "veldt/cli/environment.h"
#include "veldt/cli/exit.h"
#include "veldt/app/progress_line.h"
#include "veldt/cli/signals.h"
#include "veldt/data/fetch.h"

namespace veldt::app {
namespace {

namespace fs = std::filesystem;

std::string cache_folder() {
  if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with('/')) return cache + "/veldt";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/veldt";
  throw UsageError("there is no folder to download into", "neither XDG_CACHE_HOME nor HOME is set",
                   "give the folder of the data: --data DIR");
}

// "URL SHA256", or "NAME URL SHA256" for a file whose name is not the end of its address.
data::FetchOptions download_of(const io::Source& source, const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  if (all.size() != 2 && all.size() != 3)
    throw io::bad_value(source, text, "it is not an address with a hash",
                        "write \"URL SHA256\" or \"NAME URL SHA256\"");
  const std::string& url = all[all.size() - 2];
  const std::string name = all.size() == 3 ? all[0] : url.substr(url.rfind('/') + 1);
  return {.url = url, .sha256 = all.back(), .name = name, .folder = {}, .on_progress = {}, .on_check = {}};
}

// Stays below the data folder, so that a stranger's recipe cannot read or write elsewhere.
fs::path checked_path(const recipe::Recipe& recipe) {
  const fs::path path = recipe.data_path();
  if (path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end())
    throw UsageError(fmt::format("data.path cannot be '{}'", recipe.path),
                     "data lie below the folder of --data, or below the cache, and this leads out of it",
                     "write a path without '..' that begins there, and name the folder by --data DIR");
  return path;
}

void download_file(data::FetchOptions download, bool quiet) {
  const StopOnSignal signal;
  ProgressLine line({.quiet = quiet, .show_after = 1});
  const auto stop_if_asked = [&signal](const std::string& work) {
    if (signal.requested())
      throw StoppedError(signal.exit_code(), work + " was stopped", "run the same command again");
  };
  const auto news = [&](const char* work, const char* doing) {
    return [&, work, doing](std::uint64_t bytes, std::uint64_t of) {
      stop_if_asked(fmt::format("the {} of {}", work, download.name));
      const double share = of > 0 ? static_cast<double>(bytes) / static_cast<double>(of) : -1;
      line.update(share,
                  fmt::format("{} {}, {:.1f} MB", doing, download.name, static_cast<double>(bytes) / 1e6));
    };
  };
  download.on_progress = news("download", "downloading");
  download.on_check = news("check", "checking");
  try {
    data::fetch(download);
  } catch (const IoError& e) {
    throw IoError(e.kind(), e.summary(), e.why(),
                  fmt::format("give the folder that has the data, --data DIR; or {}", e.fix()));
  }
  stop_if_asked("the command");
  line.finish();
}

}  // namespace

std::string data_folder(const recipe::Recipe& recipe, const std::string& given, const Context& context) {
  if (recipe.acts()) return given;  // there are no data
  const fs::path path = checked_path(recipe);
  const fs::path folder = recipe.is_of_pictures() ? path : path.parent_path();
  if (!given.empty()) return given;
  if (!recipe.files.given())
    throw UsageError("the recipe does not say where its data come from", "data.files names none",
                     "give the folder of the data: --data DIR");
  const std::string cache = cache_folder();
  for (std::size_t i = 0; i < recipe.files.texts.size(); ++i) {
    data::FetchOptions download = download_of(recipe.files.source(i), recipe.files.texts[i]);
    download.folder = (cache / folder).string();
    download_file(download, context.quiet);
  }
  return cache;
}

}  // namespace veldt::app
