// Reads pictures and cuts them into tiles.
#include "veldt/data/picture_tiles.h"

#include <algorithm>
#include <filesystem>

#include "veldt/core/error.h"
#include "veldt/data/pictures.h"
#include "veldt/io/directory.h"
#include "veldt/io/image.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::data {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{4} << 30;

class TileSet final : public Dataset {
 public:
  TileSet(const std::vector<std::string>& paths, TileOptions options) : options_(options) {
    if (options_.size < 1 || options_.margin < 0)
      throw ConfigError(str("tiles cannot be ", options_.size, " wide with a margin of ", options_.margin),
                        "a size is 1 or more, and a margin 0 or more", "give 64 and 0, for example");
    std::int64_t bytes = 0;
    for (const std::string& path : paths) {
      const Tensor picture = read_picture(path, {.grey = options_.grey});
      const std::int64_t height = picture.size(1), width = picture.size(2), size = options_.size;
      if (height < size || width < size)
        throw IoError(IoError::Kind::malformed, str("the picture ", path, " is too small"),
                      str("it is ", width, " x ", height, ", and a tile ", size, " x ", size),
                      "remove it, or take smaller tiles");
      if ((bytes += picture.numel()) > kMostBytes)
        throw IoError(IoError::Kind::malformed, str("there are too many pictures from ", path, " on"),
                      str("they are kept in memory, at most ", kMostBytes >> 30, " GB"),
                      "give fewer, or smaller ones");
      const std::int64_t rows = height / size, columns = width / size;
      for (std::int64_t i = 0; i < rows * columns; ++i)
        tiles_.push_back({pictures_.size(), height % size / 2 + i / columns * size,
                          width % size / 2 + i % columns * size});
      pictures_.push_back(to(round(picture * 255.0), DType::u8));
      names_.push_back(path);
    }
  }

  std::int64_t size() const override { return std::ssize(tiles_); }
  Example get(std::int64_t i) const override {
    const Tile& tile = tiles_.at(static_cast<std::size_t>(i));
    const Tensor& picture = pictures_[tile.picture];
    const auto part = [&](const Tensor& x, int dim, std::int64_t at) {
      const std::int64_t begin = std::max<std::int64_t>(at - options_.margin, 0),
                         end = std::min(at + options_.size + options_.margin, x.size(dim));
      return narrow(x, dim, begin, end - begin);
    };
    return {to(contiguous(part(part(picture, 1, tile.y), 2, tile.x)), DType::f32) / 255.0};
  }
  std::string name_of(std::int64_t i) const override {
    const Tile& tile = tiles_.at(static_cast<std::size_t>(i));
    return str(names_[tile.picture], " at ", tile.x, ", ", tile.y);
  }

 private:
  struct Tile {
    std::size_t picture;
    std::int64_t y, x;
  };
  TileOptions options_;
  std::vector<Tensor> pictures_;
  std::vector<std::string> names_;
  std::vector<Tile> tiles_;
};

}  // namespace

std::vector<std::string> pictures_of_folder(const std::string& folder) {
  if (!io::is_directory(folder))
    throw IoError(IoError::Kind::missing, "there is no folder " + folder, "it is missing, or is a file",
                  "name a folder with pictures");
  std::vector<std::string> paths;
  for (const std::string& name : io::list_directory(folder)) {
    std::string path = (std::filesystem::path(folder) / name).string();
    if (io::is_picture_name(name) && !io::is_directory(path)) paths.push_back(std::move(path));
  }
  std::sort(paths.begin(), paths.end());
  if (paths.empty())
    throw IoError(IoError::Kind::missing, "there is no picture in " + folder,
                  "no file in it has a name that ends as a picture's: .png, .jpg, .webp", "put some there");
  return paths;
}

DatasetPtr picture_tiles(const std::vector<std::string>& paths, TileOptions options) {
  return std::make_shared<TileSet>(paths, options);
}

}  // namespace veldt::data
