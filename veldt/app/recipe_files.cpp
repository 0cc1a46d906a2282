#include "veldt/app/recipe_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "veldt/app/progress_line.h"
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

// "URL SHA256", or "NAME URL SHA256" for a file that is to be called otherwise than at the end of its
// address.
data::FetchOptions download_of(const Source& source, const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  if (all.size() != 2 && all.size() != 3)
    throw bad_value(source, text, "it is no address with a hash",
                    "write \"URL SHA256\" or \"NAME URL SHA256\"");
  const std::string& url = all[all.size() - 2];
  const std::string name = all.size() == 3 ? all[0] : url.substr(url.rfind('/') + 1);
  return {.url = url, .sha256 = all.back(), .name = name, .folder = {}, .on_progress = {}};
}

// Below the cache, wherever a recipe of a stranger would like to put them.
fs::path folder_of_files(const Recipe& recipe) {
  const fs::path path = recipe.path.empty() ? recipe.kind : recipe.path;
  const bool leaves = path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
  if (leaves)
    throw UsageError(fmt::format("data.path cannot be '{}'", recipe.path),
                     "files are downloaded below the cache, and this leads out of it",
                     "write a path without '..', or give --data DIR");
  return recipe.is_of_pictures() ? path : path.parent_path();
}

}  // namespace

std::string data_folder(const Recipe& recipe, const std::string& given, const Context& context) {
  if (!given.empty()) return given;
  if (!recipe.files.given())
    throw UsageError("the recipe does not say where its data come from", "data.files names none",
                     "give the folder of the data: --data DIR");
  const std::string cache = cache_folder();
  for (std::size_t i = 0; i < recipe.files.texts.size(); ++i) {
    data::FetchOptions download = download_of(recipe.files.source(i), recipe.files.texts[i]);
    download.folder = (cache / folder_of_files(recipe)).string();
    ProgressLine line({.quiet = context.quiet, .show_after = 1});
    download.on_progress = [&](std::uint64_t bytes, std::uint64_t of) {
      const double share = of > 0 ? static_cast<double>(bytes) / static_cast<double>(of) : -1;
      line.update(share,
                  fmt::format("downloading {}, {:.1f} MB", download.name, static_cast<double>(bytes) / 1e6));
    };
    try {
      data::fetch(download);
    } catch (const IoError& e) {
      throw IoError(e.kind(), e.summary(), e.why(),
                    fmt::format("give the folder that has the data, --data DIR; or {}", e.fix()));
    }
    line.finish();
  }
  return cache;
}

}  // namespace veldt::app
