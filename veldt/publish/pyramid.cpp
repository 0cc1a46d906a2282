// Draws the tiles of a pyramid, a few at a time, level by level.
#include "veldt/publish/pyramid.h"

#include <fmt/format.h>

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/field/image_field.h"
#include "veldt/io/digest.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/ops/shape.h"
#include "veldt/publish/html.h"
#include "veldt/publish/parts.h"
#include "veldt/publish/texts.h"

namespace veldt::publish {
namespace {

constexpr std::int64_t kLongestPyramid = std::int64_t{1} << 20, kTilesAtATime = 16;

std::int64_t over(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

struct Pyramid {
  Size size;
  std::int64_t tile;

  int levels() const {
    int n = 1;
    for (std::int64_t side = std::max(size.width, size.height); side > 1; side = over(side, 2)) ++n;
    return n;
  }
  Size at(int level) const {
    const int halvings = levels() - 1 - level;
    return {over(size.width, std::int64_t{1} << halvings), over(size.height, std::int64_t{1} << halvings)};
  }
  std::int64_t columns(int level) const { return over(at(level).width, tile); }
  std::int64_t rows(int level) const { return over(at(level).height, tile); }
};

Pyramid pyramid_of(const PyramidOptions& o) {
  if (o.size.width < 1 || o.size.height < 1 || o.size.width > kLongestPyramid ||
      o.size.height > kLongestPyramid)
    throw ConfigError(str("cannot make tiles of ", o.size.width, "x", o.size.height),
                      str("sides go from 1 to ", kLongestPyramid), "choose another size");
  if (o.tile < 16 || o.tile > 4096)
    throw ConfigError(str("a tile cannot have ", o.tile, " pixels a side"), "there are 16 to 4096",
                      "use 256");
  return {o.size, o.tile};
}

// What a folder holds tiles of.
std::string mark_of(const field::Field& field, const PyramidOptions& options) {
  io::Digest digest;
  for (const NamedTensor& t : field.tensors()) {
    const Tensor values = contiguous(to(t.tensor, Device{}));
    digest.update(values.view().data, static_cast<std::size_t>(values.numel()) * size_of(values.dtype()));
  }
  const std::string facts = to_json(field.options());
  digest.update(facts.data(), facts.size());
  return fmt::format("field {}\nsize {}x{}\ntile {}\n", digest.text(), options.size.width,
                     options.size.height, options.tile);
}

void claim(const std::string& folder, const std::string& mark) {
  const std::string path = folder + "/tiles.txt";
  if (io::exists(path)) {
    if (io::read_file(path, 4096) != mark)
      throw ConfigError(
          str(folder, " holds the tiles of another field, or of another size"),
          str("its tiles.txt does not say what this would be: ", mark.substr(0, mark.find('\n'))),
          "remove the folder, or name another one");
    return;
  }
  for (const char* name : {"tiles_files", "tiles.dzi", "index.html"})
    if (io::exists(str(folder, "/", name)))
      throw ConfigError(str(folder, " holds ", name, " already"),
                        "it is not of veldt export: there is no tiles.txt",
                        "name another folder, or remove it");
  io::make_directories(folder);
  io::write_file(path, mark);
}

// The tiles first .. first + count - 1 of a row of tiles, drawn together.
void draw_tiles(const field::ImageField& field, const Pyramid& pyramid, int level, std::int64_t row,
                std::int64_t first, std::int64_t count, const std::string& folder) {
  const Size whole = pyramid.at(level);
  const std::int64_t tile = pyramid.tile, left = first * tile, top = row * tile,
                     right = std::min(whole.width, (first + count) * tile),
                     bottom = std::min(whole.height, top + tile);
  const auto w = static_cast<double>(whole.width), h = static_cast<double>(whole.height);
  const field::Region region{static_cast<double>(left) / w, static_cast<double>(top) / h,
                             static_cast<double>(right - left) / w, static_cast<double>(bottom - top) / h};
  const Tensor drawn = field.render({right - left, bottom - top}, {.region = region});
  for (std::int64_t i = 0; i < count; ++i)
    io::write_image(fmt::format("{}/{}_{}.png", folder, first + i, row),
                    contiguous(slice(drawn, 1, i * tile, std::min(right - left, (i + 1) * tile))));
}

}  // namespace

std::int64_t tile_count(const PyramidOptions& options) {
  const Pyramid pyramid = pyramid_of(options);
  std::int64_t sum = 0;
  for (int level = 0; level < pyramid.levels(); ++level) sum += pyramid.columns(level) * pyramid.rows(level);
  return sum;
}

bool write_pyramid(const field::Field& field, const std::string& folder, const PyramidOptions& options,
                   const TilesDone& done) {
  must_be_picture(field, "tiles");
  const Pyramid pyramid = pyramid_of(options);
  const field::ImageField picture(field);
  claim(folder, mark_of(field, options));
  std::int64_t count = 0;
  for (int level = 0; level < pyramid.levels(); ++level) {
    const std::string path = fmt::format("{}/tiles_files/{}", folder, level);
    io::make_directories(path);
    for (std::int64_t row = 0; row < pyramid.rows(level); ++row)
      for (std::int64_t first = 0; first < pyramid.columns(level); first += kTilesAtATime) {
        const std::int64_t together = std::min(kTilesAtATime, pyramid.columns(level) - first);
        bool is_there = true;
        for (std::int64_t i = first; i < first + together && is_there; ++i)
          is_there = io::exists(fmt::format("{}/{}_{}.png", path, i, row));
        if (!is_there) draw_tiles(picture, pyramid, level, row, first, together, path);
        if (!done(count += together)) return false;
      }
  }
  const std::string title = in_html(options.title);
  io::write_file(folder + "/index.html",
                 filled(pyramid_html, {{"title", title},
                                       {"width", std::to_string(options.size.width)},
                                       {"height", std::to_string(options.size.height)},
                                       {"tile", std::to_string(options.tile)},
                                       {"viewer", viewer_js},
                                       {"css", page_css}}));
  io::write_file(
      folder + "/tiles.dzi",
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<Image xmlns=\"http://schemas.microsoft.com/deepzoom/2008\" Format=\"png\" "
                  "Overlap=\"0\" TileSize=\"{}\">\n  <Size Width=\"{}\" Height=\"{}\"/>\n</Image>\n",
                  options.tile, options.size.width, options.size.height));
  return true;
}

}  // namespace veldt::publish
