// Lists the files of a recipe's data, and takes a digest of their names, sizes, beginnings and ends.
#include "veldt/recipe/data_digest.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "veldt/io/digest.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/recipe/data.h"

namespace veldt::recipe {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostRead = std::uint64_t{64} << 20;
constexpr std::uint64_t kLeastRead = 4096;  // of each file
constexpr int kDeepestPicture = 2;          // train/CLASS/picture

struct DataFile {
  std::string name;  // below the path
  fs::path path;
  std::uint64_t bytes = 0;
};

void add_file(std::vector<DataFile>& into, const fs::path& path, const std::string& name) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || error) return;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (!error) into.push_back({name, path, bytes});
}

// Names that begin with a dot are no data. Pictures may lie in folders of folders.
std::vector<DataFile> files_below(const std::string& path, bool pictures) {
  std::vector<DataFile> files;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    add_file(files, path, "");
    return files;
  }
  const auto options =
      fs::directory_options::skip_permission_denied | fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator at(path, options, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code none;
    if (at->is_directory(none)) {
      if (!pictures || at.depth() >= kDeepestPicture || name.starts_with('.')) at.disable_recursion_pending();
    } else if (!name.starts_with('.') && (!pictures || io::is_picture_name(name))) {
      add_file(files, at->path(), at->path().lexically_relative(path).generic_string());
    }
  }
  std::sort(files.begin(), files.end(), [](const DataFile& a, const DataFile& b) { return a.name < b.name; });
  return files;
}

// A file that vanishes, or that cannot be read, counts by its name and size alone: who needs it will say so.
void add_contents(io::Digest& digest, const DataFile& file, std::uint64_t most) {
  try {
    io::InputFile in(file.path.string());
    std::string part;
    const auto read = [&](std::uint64_t bytes) {
      part.resize(bytes);
      part.resize(in.read(part.data(), part.size()));
      digest.update(part.data(), part.size());
    };
    if (in.size() <= most) return read(in.size());
    read(most / 2);
    in.seek(in.size() - most / 2);
    read(most / 2);
  } catch (const IoError&) {
    return;
  }
}

}  // namespace

DataDigest digest_of_data(const Recipe& recipe, const std::string& folder) {
  const std::vector<DataFile> files =
      files_below(below(folder, recipe.data_path()), recipe.kind == "pictures" || recipe.denoises());
  DataDigest found;
  io::Digest digest;
  const std::uint64_t most = std::max(kLeastRead, kMostRead / std::max<std::uint64_t>(files.size(), 1));
  for (const DataFile& file : files) {
    ++found.files;
    found.bytes += static_cast<std::int64_t>(file.bytes);
    const std::string head = file.name + '\0' + std::to_string(file.bytes) + '\0';
    digest.update(head.data(), head.size());
    add_contents(digest, file, most);
  }
  found.digest = digest.text();
  return found;
}

}  // namespace veldt::recipe
