// Tiles of pictures, to which noise is added, for a recipe to learn from and to be measured on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "veldt/data/augment.h"
#include "veldt/data/picture_tiles.h"
#include "veldt/io/directory.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/recipe/data.h"

namespace veldt::recipe {
namespace {

using Paths = std::vector<std::string>;

// The last of the paths, a share of all, 1 at least if there is a share.
Paths held_back(Paths& paths, double share, std::size_t of) {
  if (share == 0) return {};
  const double wanted = std::max(std::round(share * static_cast<double>(of)), 1.0);
  const auto count = std::min(static_cast<std::size_t>(wanted), paths.size());
  Paths last(paths.end() - static_cast<std::ptrdiff_t>(count), paths.end());
  paths.resize(paths.size() - count);
  return last;
}

// {clean} -> {noisy, clean}, both of the tile's size: its middle, where a margin was not cropped at random.
data::Transform with_noise(double deviation, std::int64_t tile) {
  return [=, add = data::gaussian_noise(deviation)](data::Example example, Rng& rng) {
    Tensor clean = example.at(0);
    for (const int dim : {1, 2}) clean = narrow(clean, dim, (clean.size(dim) - tile) / 2, tile);
    clean = contiguous(clean);
    return data::Example{add({clean}, rng).at(0), clean};
  };
}

void check_augmentation(const Data& data, const Shape& shape) {
  Rng rng(0);
  const Shape after = data.augment({zeros(shape)}, rng).at(0).shape();
  if (after != shape)
    throw UsageError(str("data.augment turns tiles of ", shape, " into ", after),
                     "a network takes pictures of one size", "keep the size, which is data.crop");
}

}  // namespace

void load_noisy_pictures(const Recipe& recipe, const std::string& folder, Data& into) {
  const std::string path = below(folder, recipe.data_path());
  const std::string train = below(path, "train"), test = below(path, "test");
  const bool has_train = io::is_directory(train), has_test = has_train && io::is_directory(test);
  if (has_test && recipe.test > 0)
    throw UsageError(fmt::format("data.test is {}, and {} is there", recipe.test, test),
                     "that folder is the test set, so no training pictures are set aside for it",
                     "leave out data.test, or move the folder away");
  Paths paths = data::pictures_of_folder(has_train ? train : path);
  const std::size_t all = paths.size();
  const Paths measured = has_test ? data::pictures_of_folder(test) : held_back(paths, recipe.test, all);
  const Paths validated = held_back(paths, recipe.validation, paths.size());
  if (paths.empty())
    throw UsageError(
        fmt::format("there is nothing to learn from in data.path '{}'", recipe.path),
        fmt::format("it has {} pictures, and data.test = {} and data.validation = {} take all of "
                    "them",
                    all, recipe.test, recipe.validation),
        "set them lower, or give more pictures");
  const data::TileOptions tiles{.size = recipe.crop, .grey = recipe.grey};
  data::TileOptions larger = tiles;
  larger.margin = recipe.crop / 2;
  into.train = data::picture_tiles(paths, larger);
  if (!validated.empty()) into.validation = data::picture_tiles(validated, tiles);
  if (!measured.empty()) into.test = data::picture_tiles(measured, tiles);
  const Shape shape{recipe.grey ? 1 : 3, recipe.crop, recipe.crop};
  if (into.augment) check_augmentation(into, shape);
  std::vector<data::Transform> steps{data::random_crop({recipe.crop, recipe.crop})};
  if (into.augment) steps.push_back(into.augment);
  into.augment = data::sequence(std::move(steps));
  into.prepare = with_noise(recipe.noise, recipe.crop);
  into.facts.examples = static_cast<std::int64_t>(all);
  into.facts.model = {.input = shape, .outputs = shape[0], .output = shape};
}

}  // namespace veldt::recipe
